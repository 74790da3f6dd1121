package testutil

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// recorder is a testing.TB that keeps what a failing helper says.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Name() string { return "TestText/long" }

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// recordFailures runs a test and returns its failures.
func recordFailures(test func(testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return strings.Join(r.failures, "\n")
}

func setUpdate(t *testing.T, to bool) {
	t.Helper()
	before := *update
	*update = to
	t.Cleanup(func() { *update = before })
}

func TestGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "text.golden")
	setUpdate(t, false)
	if got := recordFailures(func(tb testing.TB) { Golden(tb, path, []byte("a")) }); !strings.Contains(got, "go test ./internal/testutil -run '^TestText$' -update creates it") {
		t.Errorf("without a file: %s", got)
	}
	setUpdate(t, true)
	Golden(t, path, []byte("one\n\x1b[31mtwo\x1b[m\r\n"))
	data, err := os.ReadFile(path)
	if want := "one\n^[[31mtwo^[[m^M\n"; err != nil || string(data) != want {
		t.Errorf("the file holds %q, %v, want %q", data, err, want)
	}
	setUpdate(t, false)
	Golden(t, path, []byte("one\n\x1b[31mtwo\x1b[m\r\n"))
	got := recordFailures(func(tb testing.TB) { Golden(tb, path, []byte("one\nthree\n")) })
	if !strings.Contains(got, "go test ./internal/testutil -run '^TestText$' -update rewrites it") || !strings.Contains(got, "^[[31mtwo") || !strings.Contains(got, "three") {
		t.Errorf("of a text that differs: %s", got)
	}
}

func TestGoldenOfWindowsCheckout(t *testing.T) {
	setUpdate(t, false)
	path := filepath.Join(t.TempDir(), "text.golden")
	if err := os.WriteFile(path, []byte("one\r\ntwo\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	Golden(t, path, []byte("one\ntwo\n"))
}
