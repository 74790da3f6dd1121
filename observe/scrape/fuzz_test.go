package scrape

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// FuzzParseMetrics reads any body as metrics: it never panics, and its errors are one line.
func FuzzParseMetrics(f *testing.F) {
	for _, kind := range []string{"text/plain", "application/vnd.google.protobuf", "", "text/html; charset=x"} {
		f.Add([]byte("workqueue_depth{name=\"a\"} 1\n"), kind)
		f.Add([]byte("# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n"), kind)
		f.Add([]byte("\x0a\x05"), kind)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data := testutil.ReadFile(f, name)
		f.Add([]byte(data), "text/plain; version=0.0.4")
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		families, err := parseMetrics(body, contentType)
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("the error is not one clean line: %q", err)
		}
		for _, family := range families {
			if family == nil {
				t.Error("a family is nil")
			}
		}
	})
}
