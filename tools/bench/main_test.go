package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// fakeEnv makes the test binary act as ctrlplane.
const fakeEnv = "BENCH_TEST_FAKE"

func TestMain(m *testing.M) {
	switch os.Getenv(fakeEnv) {
	case "":
		os.Exit(m.Run())
	case "fail":
		if os.Args[1] == "version" {
			fmt.Println("fake 1")
			os.Exit(0)
		}
		fmt.Fprintln(os.Stderr, "cannot start")
		os.Exit(3)
	case "view":
		fmt.Println(strings.Join(os.Args[1:], " "))
		awaitSignal()
	case "hang":
		if os.Args[1] == "version" {
			fmt.Println("fake 1")
			os.Exit(0)
		}
		if err := os.WriteFile(os.Getenv(fakeEnv+"_PID"), fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		awaitSignal()
	}
}

// awaitSignal blocks until the process is killed. Without a signal handler the runtime
// would report a deadlock.
func awaitSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	<-c
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"-nope"}, "-nope"},
		{[]string{"-only", "three,four"}, `unknown contestant or part "four": choose from ctrlplane,`},
		{[]string{"-runs", "0"}, "-runs 0"},
		{[]string{"-rounds", "0"}, "-rounds 0"},
		{[]string{"-idle", "0s"}, "-idle"},
		{[]string{"-growth", "-profile-start"}, "use one of them"},
		{[]string{"-only", "run,three"}, "-only: three does not support run"},
		{[]string{"-growth", "-sizes", "15"}, "-sizes"},
		{[]string{"stray"}, `"stray"`},
		{[]string{"-compare", "a", "b", "c"}, `"b"`},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), tt.args, &stdout, &stderr)
		if !errors.As(err, new(usage.Error)) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: got %v, want a usage error of one line with %q", tt.args, err, tt.want)
		}
		if stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%v: also printed %q and %q", tt.args, &stdout, &stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, &stdout, &stderr); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(stderr.String(), "-only list") {
		t.Errorf("printed %q", &stderr)
	}
}

func TestCompareRunsNothing(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, path := range []string{a, b} {
		if err := saveResults(path, newTestResults(1, testValues(), "three")); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-compare", a, b}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "+0.0 %") || stderr.Len() > 0 {
		t.Errorf("printed %q and %q", &stdout, &stderr)
	}
}

// fakeArgs returns arguments that run the test binary as ctrlplane, with all temporary
// files in dir.
func fakeArgs(t *testing.T, fake, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeEnv, fake)
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	return []string{"-only", "ctrlplane,start", "-ctrlplane", self, "-json", filepath.Join(dir, "out.json")}
}

func TestFailedContestantNamesItsLog(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), fakeArgs(t, "fail", dir), &stdout, &stderr)
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	before, log, ok := strings.Cut(text, ": see ")
	if !ok || !strings.HasPrefix(before, "ctrlplane, run 1: ") || !strings.Contains(before, "ended: exit status 3") || strings.Contains(text, "\n") {
		t.Errorf("got %q", text)
	}
	if content, err := os.ReadFile(log); err != nil || string(content) != "cannot start\n" {
		t.Errorf("the log contains %q, %v", content, err)
	}
	if left, err := os.ReadDir(filepath.Dir(log)); err != nil || len(left) != 1 {
		t.Errorf("next to the log: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the results file: got %v, want not found", err)
	}
}

func TestInterruptStopsChildrenAndCleansUp(t *testing.T) {
	dir, pidFile := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	a := fakeArgs(t, "hang", dir)
	t.Setenv(fakeEnv+"_PID", pidFile)
	ended := make(chan error, 1)
	var stdout, stderr bytes.Buffer
	go func() { ended <- run(ctx, a, &stdout, &stderr) }()

	var pid int
	err := pollUntil(t.Context(), time.Millisecond, func(context.Context) error {
		data, err := os.ReadFile(pidFile)
		if err != nil {
			return err
		}
		_, err = fmt.Sscanln(string(data), &pid)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("interrupted")
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if running(pid) {
		t.Errorf("process %d is still running", pid)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
