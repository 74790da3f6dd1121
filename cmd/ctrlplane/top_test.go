package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestViewUsageErrors(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"up --ui boiled", 2, `unknown mode "boiled": use auto, plain, json or none`},
		{"top --ui boiled", 2, `unknown mode "boiled": use auto, plain, json or none`},
		{"top", 1, `is not running: start it with "`},
		{"status", 1, `is not running: start it with "`},
		{"status", 1, `up", or choose another one with --data-dir`},
		{"--name demo top", 1, "--name demo up"},
		{"--data-dir nowhere status", 1, "--data-dir nowhere up"},
		{"status extra", 2, "takes no arguments"},
		{"top --token-file x", 2, "need --metrics"},
		{"top --insecure-skip-tls-verify", 2, "need --metrics"},
		{"--name demo top --metrics http://127.0.0.1:1", 2, "use one of them"},
		{"top --metrics localhost:8080", 2, `--metrics: address "localhost:8080" has no scheme: begin it with http://`},
		{"top --metrics ftp://localhost", 2, "use http:// or https://"},
		{"top --metrics http://127.0.0.1:1 --token-file nowhere", 2, "nowhere"},
		{"top --metrics http://127.0.0.1:1 --cert-file x", 2, "--key-file"},
		{"up --observe-records=many", 2, "--observe-records"},
		{"top --read-only", 2, "need --web"},
		{"top --web-public", 2, "need --web"},
		{"top --web --ui boiled", 2, `unknown mode "boiled": use auto, plain, json or none`},
		{"top --web --metrics http://localhost:1/", 2, "--web excludes --metrics with its flags"},
		{"top --web --web-address 0.0.0.0:0", 2, "add --web-public"},
		{"up --web --detach", 2, `"ctrlplane top --web" once it runs`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			enterHome(t).requireFailure(t, strings.Fields(tc.args), tc.code, tc.says)
		})
	}
}

func TestTopMetricsErrors(t *testing.T) {
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
			h := enterHome(t)
			for _, view := range []string{"plain", "json", "none"} {
				h.requireFailure(t, []string{"top", "--metrics", tc.url, "--ui", view}, 1, tc.says, tc.url)
			}
		})
	}
}

// serveResponse starts a server with one response for every request, and returns its URL.
func serveResponse(t *testing.T, code int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
