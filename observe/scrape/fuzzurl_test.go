package scrape

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
)

// FuzzParseURL: a request can be made of what is accepted; any other is refused in one
// line, without its password.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1:8080/metrics", "https://[::1]:1", "localhost:8080", "http://", "http://a:s3cret@b:x", "http://a\n", "ftp://a", "http://a/%zz", "a:s3cret@b", "x://\x1b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		u, err := parseURL(given)
		if err != nil {
			if strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 || strings.Contains(err.Error(), "s3cret") && strings.Contains(given, "s3cret@") {
				t.Errorf("got %q", err)
			}
			return
		}
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil); err != nil || u.Host == "" || u.Path == "" {
			t.Errorf("%q became %q, of which no request can be made: %v", given, u, err)
		}
	})
}
