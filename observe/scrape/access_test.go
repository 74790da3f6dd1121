package scrape

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestInvalidOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"no URL", Options{}, []string{"no address of metrics"}},
		{"no scheme", Options{URL: "localhost:8080"}, []string{`address "localhost:8080" has no scheme: begin it with http://`}},
		{"no scheme, with a password", Options{URL: "user:secret@localhost:8080"}, []string{`address "xxxxx@localhost:8080" has no scheme`}},
		{"other scheme", Options{URL: "ftp://localhost"}, []string{`address "ftp://localhost" begins with ftp://`}},
		{"no host", Options{URL: "http:///metrics"}, []string{`address "http:///metrics" has no host`}},
		{"no URL at all", Options{URL: "http://user:secret@[::1"}, []string{`address "http://xxxxx@[::1" is not a valid URL`}},
		{"negative timeout", Options{URL: "http://h", Timeout: -1}, []string{"timeout"}},
		{"no token file", Options{URL: "http://h", TokenFile: "nowhere"}, []string{"--token-file", "nowhere"}},
		{"empty token file", Options{URL: "http://h", TokenFile: writeFile(t, "\n")}, []string{"--token-file", "empty"}},
		{"no token in the file", Options{URL: "http://h", TokenFile: writeFile(t, "token: secret\nuser: me")}, []string{"--token-file"}},
		{"two tokens", Options{URL: "http://h", Token: "a", TokenFile: writeFile(t, "b")}, []string{"--token-file", "remove one"}},
		{"no CA file", Options{URL: "https://h", CAFile: "nowhere"}, []string{"--ca-file", "nowhere"}},
		{"no CA in the file", Options{URL: "https://h", CAFile: writeFile(t, "x")}, []string{"--ca-file", "PEM"}},
		{"CA and insecure", Options{URL: "https://h", CAFile: "x", Insecure: true}, []string{"--ca-file", "--insecure-skip-tls-verify"}},
		{"certificate without key", Options{URL: "https://h", CertFile: "x"}, []string{"--cert-file needs --key-file"}},
		{"key without certificate", Options{URL: "https://h", KeyFile: "x"}, []string{"--key-file needs --cert-file"}},
		{"no certificate", Options{URL: "https://h", CertFile: writeFile(t, ""), KeyFile: writeFile(t, "")}, []string{"--cert-file", "--key-file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.options)
			checkError(t, err, tt.want...)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q leaks a secret", err)
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	for given, want := range map[string]string{
		"http://h":                "http://h/metrics",
		"http://h:8080/":          "http://h:8080/metrics",
		"https://h/a/metrics?b=c": "https://h/a/metrics?b=c",
		"http://u:p@h/m":          "http://u:p@h/m",
	} {
		u, err := parseURL(given)
		if err != nil || u.String() != want {
			t.Errorf("%s is %v (%v), want %s", given, u, err, want)
		}
	}
}

func TestTokenFileIsReread(t *testing.T) {
	tokens := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("Authorization")
		fmt.Fprint(w, metrics)
	}))
	defer server.Close()
	file := writeFile(t, "first\n")
	s, clock := newTestSource(t, Options{URL: server.URL, TokenFile: file})
	for _, token := range []string{"first", "rotated"} {
		testutil.WriteFile(t, file, token+"\n")
		takeSnapshot(t, s)
		if got := <-tokens; got != "Bearer "+token {
			t.Errorf("%q, want the token %q", got, token)
		}
		clock.advance(time.Second)
	}
	s, _ = newTestSource(t, Options{URL: server.URL, Token: "given"})
	takeSnapshot(t, s)
	if got := <-tokens; got != "Bearer given" {
		t.Errorf("%q, want the token of the options", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.tokenFile = file
	clock = newClock()
	clock.advance(time.Hour)
	s.now = clock.now
	_, err := s.Snapshot(t.Context())
	checkError(t, err, "--token-file")
}

// The certificate of an operator on this machine is self-signed, but a password is sent only to what is verified.
func TestMayTrust(t *testing.T) {
	for address, want := range map[string]bool{
		"https://localhost:8443/metrics": true, "https://127.0.0.1:8443/metrics": true, "https://[::1]:8443": true,
		"https://user:password@localhost:8443/metrics": false, "https://shop.example.com/metrics": false, "https://localhost.example.com": false, ":": false,
	} {
		if got := MayTrust(address); got != want {
			t.Errorf("%s: got %t", address, got)
		}
	}
}
