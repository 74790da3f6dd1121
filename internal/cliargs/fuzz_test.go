package cliargs

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// requireUsageError checks an error of wrong input: it is one line that a terminal can
// show, whatever the input is.
func requireUsageError(t *testing.T, err error) {
	t.Helper()
	if !errors.As(err, new(usage.Error)) {
		t.Errorf("%v is no usage error", err)
	}
	if i := strings.IndexFunc(err.Error(), unicode.IsControl); i >= 0 {
		t.Errorf("%q contains a control character", err)
	}
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{"deployment/web", "deploy\x1fweb", "a/b/c", "/", "", "a/\x1f", "pods\x1fa/b", "\u009b/\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x1f")
		kind, name, err := Object("ctrlplane why", args)
		if err != nil {
			requireUsageError(t, err)
			return
		}
		if joined != kind+"/"+name && joined != kind+"\x1f"+name || strings.Contains(kind+name, "/") || kind == "" || name == "" {
			t.Errorf("%q: got %q and %q", args, kind, name)
		}
	})
}

func FuzzControllerNames(f *testing.F) {
	for _, seed := range []string{"job", "job,cronjob\x1fdeployment", ",", "", "a,,b", "*", "a b", "\x00"} {
		f.Add(seed, false)
	}
	f.Add("job", true)
	f.Fuzz(func(t *testing.T, joined string, all bool) {
		args := strings.Split(joined, "\x1f")
		names, err := ControllerNames("pause", args, all)
		if err != nil {
			requireUsageError(t, err)
			return
		}
		if strings.Join(names, ",") != strings.ReplaceAll(joined, "\x1f", ",") {
			t.Errorf("%q: got %q", args, names)
		}
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, ",*?#%") {
				t.Errorf("%q: got the name %q", args, name)
			}
		}
	})
}

func FuzzDelay(f *testing.F) {
	for _, seed := range []string{"job\x1f1s", "1s", "job\x1f-1s", "job\x1f9223372036854775807ns", "job\x1f1e9h", "a,b\x1fc\x1f.5h", "job\x1f\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		names, d, err := Delay("controllers", "controller", strings.Split(joined, "\x1f"))
		if err != nil {
			requireUsageError(t, err)
		} else if d <= 0 || len(names) != strings.Count(joined, "\x1f") {
			t.Errorf("%q: got %q, %v", joined, names, d)
		}
	})
}
