package scrape

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const metrics = "workqueue_depth{name=\"job\"} 1\n"

func respondWith(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// checkError fails unless err is one line that contains each of the words.
func checkError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 1<<10 {
		t.Fatalf("more than a line: %.1000q", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	t.Log(err)
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	return testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), content)
}

func TestRejectsAnswersWithoutMetrics(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		options Options
		want    []string
	}{
		{"401 without identity", respondWith(401, "text/plain", "Unauthorized"), Options{}, []string{"401", "--token-file", "--cert-file and --key-file"}},
		{"403 without identity", respondWith(403, "application/json", "{}"), Options{}, []string{"403", "--token-file", "--cert-file and --key-file"}},
		{"401 with a token", respondWith(401, "text/plain", ""), Options{Token: "secret"}, []string{"401", "does not accept the token", "--token-file"}},
		{"403 with a token", respondWith(403, "text/plain", ""), Options{Token: "secret"}, []string{"403", "nonResourceURL /metrics"}},
		{"404", respondWith(404, "text/plain", "404 page not found"), Options{}, []string{"no metrics at /metrics", "address"}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example", http.StatusFound)
		}, Options{}, []string{"redirects to \"https://login.example\"", "address"}},
		{"500", respondWith(500, "text/plain", "an error\nin two\x1b[31m lines"), Options{}, []string{"500 Internal Server Error", "an error in two[31m lines", "address"}},
		{"HTML", respondWith(200, "text/html; charset=utf-8", "<!DOCTYPE html>\n<title>Grafana</title>"), Options{}, []string{"an HTML page", "<title>Grafana</title>", "address"}},
		{"HTML as text", respondWith(200, "", "\n <html>"), Options{}, []string{"an HTML page", "address"}},
		{"JSON", respondWith(200, "application/json", `{"status":"ok"}`), Options{}, []string{"JSON", "status", "address"}},
		{"JSON as text", respondWith(200, "text/plain", `["ok"]`), Options{}, []string{"JSON", "address"}},
		{"text", respondWith(200, "text/plain", "hello, world"), Options{}, []string{"text that is not metrics", "hello, world", "address"}},
		{"nothing", respondWith(200, "text/plain", "\n"), Options{}, []string{"the answer is empty", "address"}},
		{"truncated protobuf", respondWith(200, string(expfmt.NewFormat(expfmt.TypeProtoDelim)), "\x05\x0a"), Options{}, []string{"cannot be parsed", "address"}},
		{"protobuf with an impossible length", respondWith(200, string(expfmt.NewFormat(expfmt.TypeProtoDelim)), "\xff\xff\xff\xff\xff\xff\xff\x7f"), Options{}, []string{"cannot be parsed", "address"}},
		{"a long word", respondWith(200, "text/plain", "a{b=\"c\"} "+strings.Repeat("x", 1<<20)+"\n"), Options{}, []string{"text that is not metrics", "expected float", "address"}},
		{"a long redirect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", strings.Repeat("x", 1<<18))
			w.WriteHeader(http.StatusFound)
		}, Options{}, []string{"the server redirects to \"xxx", "address"}},
		{"no work queues", respondWith(200, "text/plain", "a 1\nb 2\nc{d=\"e\"} 3\n"), Options{}, []string{"no work queues (workqueue_*) in 3 metric families", "address"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			tt.options.URL = server.URL
			s, _ := newTestSource(t, tt.options)
			_, err := s.Snapshot(t.Context())
			checkError(t, err, append(tt.want, server.URL)...)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q leaks the token", err)
			}
		})
	}
}

func TestRejectsTooLargeAnswer(t *testing.T) {
	var member bytes.Buffer // one MiB; a gzip stream may have many members
	z := gzip.NewWriter(&member)
	io.WriteString(z, "# "+strings.Repeat("x", 1<<20-3)+"\n")
	z.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the request does not accept gzip")
		}
		w.Header().Set("Content-Encoding", "gzip")
		for range maxBody>>20 + 1 {
			if _, err := w.Write(member.Bytes()); err != nil {
				return // the reader has reached its limit
			}
		}
	}))
	defer server.Close()
	s, _ := newTestSource(t, Options{URL: server.URL, Timeout: time.Minute})
	_, err := s.Snapshot(t.Context())
	checkError(t, err, "larger than 8 MiB", "address")
}

func TestTimeout(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	s, _ := newTestSource(t, Options{URL: server.URL, Timeout: 20 * time.Millisecond})
	_, err := s.Snapshot(t.Context())
	checkError(t, err, "no answer within 20ms")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

func TestConnectionRefused(t *testing.T) {
	s, _ := newTestSource(t, Options{URL: "http://127.0.0.1:1"})
	_, err := s.Snapshot(t.Context())
	checkError(t, err, "connection refused", "address")
}

func TestExplainNetworkError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want []string
	}{
		{&net.DNSError{Err: "no such host", Name: "nowhere"}, []string{"no such host", "address"}},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connectex", syscall.Errno(10061))}, []string{"connection refused"}},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, []string{"--cert-file and --key-file"}},
		{errors.New("unexpected\nEOF"), []string{"unexpected EOF", "address"}},
	} {
		checkError(t, new(Source).explainNetworkError(tt.err), tt.want...)
	}
}

func TestWrongScheme(t *testing.T) {
	plain := httptest.NewServer(respondWith(200, "text/plain", metrics))
	defer plain.Close()
	s, _ := newTestSource(t, Options{URL: strings.Replace(plain.URL, "http:", "https:", 1)})
	_, err := s.Snapshot(t.Context())
	checkError(t, err, "does not use TLS", "http://", "address")

	secure := discardLog(httptest.NewUnstartedServer(respondWith(200, "text/plain", metrics)))
	secure.StartTLS()
	defer secure.Close()
	s, _ = newTestSource(t, Options{URL: strings.Replace(secure.URL, "https:", "http:", 1)})
	_, err = s.Snapshot(t.Context())
	checkError(t, err, "requires TLS", "https://", "address")
}

// discardLog keeps the log of a server out of the test output.
func discardLog(server *httptest.Server) *httptest.Server {
	server.Config.ErrorLog = discardLogger
	server.TLS = new(tls.Config)
	return server
}
