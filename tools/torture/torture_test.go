//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestSubset runs some rounds with a fixed seed. "make torture" runs all kinds for longer;
// test/command kills restores at the moments that matter.
func TestSubset(t *testing.T) {
	only := "kill under load,kill a first start,hostile text,descriptor limit"
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{"-ctrlplane", program.Path(), "-rounds", "1", "-parallel", "2", "-seed", "15", "-keep", filepath.Join(t.ArtifactDir(), "torture"), "-only", only}, &stdout, &stderr)
	if err != nil {
		t.Errorf("%v\n%s", err, &stderr)
	}
	t.Logf("%s", &stdout)
}

// A program that ends with a stack, and one that hangs, are losses whose folders are kept.
func TestLossIsReported(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "fake")
	script := "#!/bin/sh\necho 'panic: it broke'; echo; echo 'goroutine 1 [running]:'; exit 2\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(t.TempDir(), "kept")
	for _, only := range []string{"kill under load", "descriptor limit"} {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), []string{"-ctrlplane", fake, "-rounds", "2", "-parallel", "1", "-seed", "15", "-keep", keep, "-only", only}, &stdout, &stderr)
		if !errors.Is(err, errLost) || !strings.HasPrefix(err.Error(), "2 ") || !strings.HasSuffix(err.Error(), "-seed 15") {
			t.Errorf("%s: got %v", only, err)
		}
		if !strings.Contains(stderr.String(), only+", round 1: LOST: ") {
			t.Errorf("%s: got %s", only, &stderr)
		}
		logs, err := filepath.Glob(filepath.Join(keep, strings.ReplaceAll(only, " ", "-")+"-0-*", "log"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("%s: kept %v, %v", only, logs, err)
		}
		if log, err := os.ReadFile(logs[0]); err != nil || !bytes.Contains(log, []byte("goroutine 1")) || !bytes.Contains(log, []byte("# ")) {
			t.Errorf("%s: %s, %v", only, log, err)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "kill"}, "unknown kind"},
		{[]string{"-duration", "0"}, "must be positive"},
		{[]string{"x"}, "unexpected argument"},
		{[]string{"-seed", "x"}, "invalid value"},
	} {
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), append([]string{"-ctrlplane", program.Path()}, test.args...), &stdout, &stderr); !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v", test.args, err)
		}
	}
}
