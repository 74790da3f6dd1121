package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// testMetrics are the metrics of a process with two work queues, one with a backlog.
const testMetrics = `# TYPE workqueue_depth gauge
workqueue_depth{name="widget"} 3
workqueue_depth{name="gadget"} 0
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="widget"} 12
workqueue_adds_total{name="gadget"} 7
`

// serveResponse starts a server with one response for requests without the token,
// and returns its URL.
func serveResponse(t *testing.T, code int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-token" {
			w.WriteHeader(code)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTopMetrics(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	testutil.WriteFile(t, token, "secret-token\n")
	plain := startFollower(t, "", "top", "--metrics", serveResponse(t, 403, testMetrics), "--token-file", token, "--ui", "plain")
	plain.awaitText(t, "busy: widget (depth 3)")
	plain.interrupt(t)
	asJSON := startFollower(t, "", "top", "--metrics", serveResponse(t, 200, testMetrics), "--ui", "json")
	asJSON.awaitLine(t, "snapshot of two queues", func(line string) bool {
		var s struct {
			Kind   string
			Queues []struct {
				Name        string
				Depth, Adds int
			}
		}
		return json.Unmarshal([]byte(line), &s) == nil && s.Kind == "snapshot" && fmt.Sprint(s.Queues) == "[{gadget 0 7} {widget 3 12}]"
	})
	asJSON.interrupt(t)
}
