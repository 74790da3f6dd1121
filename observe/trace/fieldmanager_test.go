package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The conflicts that an apply has forced are named, and the field manager of an apply only if that is not the program.
func TestFieldManagers(t *testing.T) {
	const forced = "the apply forced conflicts with field managers flux and helm: data.k, data.l, and 2 other fields"
	for name, tc := range map[string]struct {
		call observe.Called
		want string // in place of what is said of the same write without a field manager
		note string
	}{
		"another name":     {observe.Called{Verb: "patch", Applied: true, FieldManager: "argo"}, "patched Deployment web as field manager argo", ""},
		"its own":          {observe.Called{Verb: "patch", Applied: true, FieldManager: "kubectl"}, "patched Deployment web", ""},
		"in other case":    {observe.Called{Verb: "patch", Applied: true, FieldManager: "Kubectl"}, "patched Deployment web", ""},
		"with its own":     {observe.Called{Verb: "patch", Applied: true, FieldManager: "kubectl-shop"}, "patched Deployment web as field manager kubectl-shop", ""},
		"of a merge patch": {observe.Called{Verb: "patch", FieldManager: "OpenAPI-Generator"}, "patched Deployment web", ""},
		"an update":        {observe.Called{Verb: "update", FieldManager: "argo"}, "updated Deployment web", ""},
		"of a status":      {observe.Called{Verb: "patch", Subresource: "status", Applied: true, FieldManager: "argo"}, "patched Deployment web status as field manager argo", ""},
		"by force":         {observe.Called{Verb: "patch", Applied: true, FieldManager: "kubectl"}, "patched Deployment web", forced},
	} {
		tc.call.ResourceVersion, tc.call.Wrote = "7", deploymentWritten("7", false)
		if tc.note != "" {
			tc.call.Wrote[0].Forced = &observe.ForcedFields{Managers: []string{"flux", "helm"}, Fields: []string{"data.k", "data.l"}, MoreFields: 2}
		}
		records := clientCalls(observe.Called{Verb: "create", Status: 201, ResourceVersion: "6", Wrote: deploymentWritten("6", false)}, tc.call)
		chain, err := Why(records, deployment("web"), Options{What: Changed})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Build(records, deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"why": writeString(t, chain, Text, Style{Width: 200}), "trace": writeString(t, tree, Text, Style{Width: 200}), "page": writeString(t, tree, HTML, Style{}),
		} {
			if !strings.Contains(text, tc.want+" (version 7)") && what != "page" {
				t.Errorf("%s: %s: no %q in:\n%s", name, what, tc.want, text)
			}
			if strings.Contains(text, "forced conflicts") != (tc.note != "") || !strings.Contains(text, tc.note) {
				t.Errorf("%s: %s: want %q in:\n%s", name, what, tc.note, text)
			}
		}
	}
}
