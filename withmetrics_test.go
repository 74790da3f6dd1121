package ctrlplane

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// scrapeOnce returns why the metrics of a server cannot be read; "" if they can.
func scrapeOnce(t *testing.T, address string) string {
	t.Helper()
	list, err := newScrapedProcesses([]string{"op=" + address})
	if err != nil {
		t.Fatal(err)
	}
	_, err = list[0].source.Snapshot(t.Context())
	if list[0].note(err, time.Now()); list[0].unread.Load() == nil {
		return ""
	}
	return list[0].unread.Load().Reason
}

// The certificate of an operator on this machine is a self-signed one. What --with lacks is said without flags of other verbs.
func TestUnreadMetrics(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		if _, err := w.Write([]byte("workqueue_depth{name=\"site\"} 1\n")); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	if why := scrapeOnce(t, server.URL); why != "" {
		t.Errorf("with a self-signed certificate: %s", why)
	}
	status = http.StatusUnauthorized
	const want = "/metrics: the server requires authentication (401 Unauthorized): --with sends no credentials except those of the URL, "
	if why := scrapeOnce(t, server.URL); !strings.Contains(why, "metrics of "+server.URL+want) || strings.Contains(why, "--token-file") {
		t.Errorf("without a token: %q", why)
	}
	server.Close()
	if why := scrapeOnce(t, server.URL); !strings.Contains(why, "connection refused: start the process or correct the address") {
		t.Errorf("of one that does not run: %q", why)
	}
}

// How long metrics have not been read does not depend on how often that was tried.
func TestUnreadSince(t *testing.T) {
	var process scrapedProcess
	began := time.Now()
	process.note(http.ErrServerClosed, began)
	process.note(http.ErrServerClosed, began.Add(time.Second))
	if got := process.unread.Load(); !got.Since.Equal(began) {
		t.Errorf("since %v, want %v", got.Since, began)
	}
	if process.note(nil, began.Add(2*time.Second)); process.unread.Load() != nil {
		t.Error("metrics that were read are unread")
	}
}
