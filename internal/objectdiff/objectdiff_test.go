package objectdiff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

func TestUnified(t *testing.T) {
	web := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "web"}
	const first = `{"kind":"Pod","metadata":{"name":"web","resourceVersion":"7"},"spec":{"a":1,"big":9007199254740993}}`
	second := strings.NewReplacer(`"7"`, `"8"`, `"a":1`, `"a":2`).Replace(first)
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"change": {first, second, []string{
			"--- Pod default/web (version 7)", "+++ Pod default/web (version 8)", "@@ -1,7 +1,7 @@",
			" kind: Pod", " metadata:", "   name: web", `-  resourceVersion: "7"`, `+  resourceVersion: "8"`,
			" spec:", "-  a: 1", "+  a: 2", "   big: 9007199254740993"}},
		"creation": {"", first, []string{
			"--- /dev/null", "+++ Pod default/web (version 7)", "@@ -0,0 +1,7 @@",
			"+kind: Pod", "+metadata:", "+  name: web", `+  resourceVersion: "7"`, "+spec:", "+  a: 1", "+  big: 9007199254740993"}},
		"deletion": {first, "", []string{
			"--- Pod default/web (version 7)", "+++ /dev/null", "@@ -1,7 +0,0 @@",
			"-kind: Pod", "-metadata:", "-  name: web", `-  resourceVersion: "7"`, "-spec:", "-  a: 1", "-  big: 9007199254740993"}},
		"control characters": {"", "{\"data\":{\"a\":\"\u007f\u009b31m\"},\"metadata\":{\"resourceVersion\":\"7\"}}", []string{
			"--- /dev/null", "+++ Pod default/web (version 7)", "@@ -0,0 +1,4 @@",
			"+data:", `+  a: "\x7F\x9B31m"`, "+metadata:", `+  resourceVersion: "7"`}},
		"nothing changed": {first, first, nil},
		"nothing known":   {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := control.SteppedWrite{HeldWrite: control.HeldWrite{Object: web}, Before: json.RawMessage(test.before), After: json.RawMessage(test.after)}
			got, err := Unified(&s)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			if got != "" {
				lines = strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	role := observe.Object{Resource: "clusterroles", Kind: "ClusterRole", Name: "a\n+++ b"}
	created := control.SteppedWrite{HeldWrite: control.HeldWrite{Object: role}, After: json.RawMessage(`{"metadata":{"resourceVersion":"7"}}`)}
	if diff, err := Unified(&created); err != nil || strings.Count(diff, "\n+++ ") != 1 {
		t.Errorf("a name with a line feed: %v\n%s", err, diff)
	}
	s := control.SteppedWrite{HeldWrite: control.HeldWrite{Object: web}, After: json.RawMessage(`{"metadata":`)}
	if diff, err := Unified(&s); err == nil || !strings.Contains(err.Error(), "Pod default/web") {
		t.Errorf("invalid JSON: %q, %v", diff, err)
	}
}
