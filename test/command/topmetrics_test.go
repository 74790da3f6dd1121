package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
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

func TestTopMetricsErrors(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the client's refusal of the certificate is expected
	secure.StartTLS()
	defer secure.Close()
	for name, tc := range map[string]struct{ url, says string }{
		"no server":     {"http://127.0.0.1:1", "connection refused"},
		"a page":        {serveResponse(t, 200, "<!DOCTYPE html><html><body>Hello</body></html>"), "not metrics"},
		"no work queue": {serveResponse(t, 200, "# TYPE up gauge\nup 1\n"), "workqueue_"},
		"nothing":       {serveResponse(t, 200, ""), "the answer is empty"},
		"unauthorized":  {serveResponse(t, 401, "Unauthorized"), "--token-file"},
		"forbidden":     {serveResponse(t, 403, "Forbidden"), "--token-file"},
		"not found":     {serveResponse(t, 404, "not found"), "404"},
		"failure":       {serveResponse(t, 500, "oops"), "500"},
		"certificate":   {secure.URL, "--ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			looks := []string{"plain"}
			if name == "no server" {
				looks = []string{"plain", "json", "none"}
			}
			for _, look := range looks {
				program.RequireFailure(t, program.Command(t, "top", "--metrics", tc.url, "--ui", look), 1, tc.says, tc.url)
			}
		})
	}
}

func TestTopMetrics(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	writeFile(t, token, "secret-token\n")
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
