package clients

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Only a server-side apply has a field manager that its request names, and can force conflicts: as upstream reads its query.
func TestApplies(t *testing.T) {
	f := newFixture(t)
	const apply, manager = "application/apply-patch+yaml", "?fieldManager=argo&"
	for name, tc := range map[string]struct {
		method, contentType, query string
		applied, forced            bool
	}{
		"an apply":             {"PATCH", apply, manager, true, false},
		"with force":           {"PATCH", apply, manager + "force=true", true, true},
		"in CBOR":              {"PATCH", "application/apply-patch+cbor", manager + "force=1", true, true},
		"without force":        {"PATCH", apply, manager + "force=False", true, false},
		"a JSON patch":         {"PATCH", "application/json-patch+json", manager + "force=true", false, false},
		"a merge patch":        {"PATCH", "application/merge-patch+json", manager, false, false},
		"an update":            {"PUT", "application/json", manager + "force=true", false, false},
		"a name with the word": {"PATCH", apply, "?fieldManager=force", true, false},
	} {
		req := httptest.NewRequestWithContext(t.Context(), tc.method, deployments+"/web"+tc.query, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		req.Header.Set("Content-Type", tc.contentType)
		var forced bool
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			observe.NoteForced(func() (object observe.Written, managers, fields []string) { forced = true; return object, nil, nil })
		}))
		calls, _ := f.records()
		if last := calls[len(calls)-1]; last.Applied != tc.applied || forced != tc.forced {
			t.Errorf("%s: applied %t, forced %t", name, last.Applied, forced)
		}
	}
}

// An apply that was refused was to create its object if that did not exist.
func TestRefusedCreations(t *testing.T) {
	f := newFixture(t)
	for name, tc := range map[string]struct {
		method   string
		status   int
		creation bool
		want     bool
	}{
		"an apply":        {"PATCH", http.StatusForbidden, true, true},
		"an update":       {"PUT", http.StatusForbidden, true, true},
		"a change":        {"PATCH", http.StatusForbidden, false, false},
		"it has created":  {"PATCH", http.StatusCreated, true, false},
		"a create itself": {"POST", http.StatusForbidden, true, false},
	} {
		path := deployments + "/web"
		if tc.method == "POST" {
			path = deployments
		}
		req := httptest.NewRequestWithContext(t.Context(), tc.method, path, strings.NewReader("{}"))
		req.Header.Set("User-Agent", kubectlAgent)
		f.clients.Handle(httptest.NewRecorder(), req, admin, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			observe.NoteCreation(tc.creation)
			w.WriteHeader(tc.status)
		}))
		calls, _ := f.records()
		if last := calls[len(calls)-1]; last.ToCreate != tc.want {
			t.Errorf("%s: %t", name, last.ToCreate)
		}
	}
}
