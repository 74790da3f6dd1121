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
			observe.NoteForced(func() (object observe.Written, managers, fields []string) { forced = true; return })
		}))
		calls, _ := f.records()
		if last := calls[len(calls)-1]; last.Applied != tc.applied || forced != tc.forced {
			t.Errorf("%s: applied %t, forced %t", name, last.Applied, forced)
		}
	}
}
