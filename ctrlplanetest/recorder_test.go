package ctrlplanetest_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB whose failures do not fail the test that uses it.
type recorder struct {
	testing.TB
	name string
	echo bool // print what is logged

	mu       sync.Mutex
	logs     []string
	failed   bool
	cleanups []func()
	cancel   context.CancelFunc
	ctx      context.Context
}

func newRecorder(name string) *recorder {
	r := &recorder{name: name}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// runTest runs a test and its Cleanup functions.
func (r *recorder) runTest(test func(testing.TB)) {
	r.runPart(func() { test(r) })
	r.endTest()
}

func (r *recorder) endTest() {
	r.cancel()
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		r.runPart(last)
	}
}

// runPart runs a function that FailNow may end.
func (r *recorder) runPart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) addLog(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, s)
	if r.echo {
		fmt.Fprintln(os.Stderr, s)
	}
}

// logged returns everything that was logged.
func (r *recorder) logged() string { return strings.Join(slices.Clone(r.logs), "\n") }

// missingTexts checks that a test has failed, and describes which of the texts it has not logged.
func (r *recorder) missingTexts(t *testing.T, texts ...string) (missing string) {
	t.Helper()
	if !r.Failed() {
		t.Fatalf("the test %s passed", r.name)
	}
	for _, want := range texts {
		if !strings.Contains(r.logged(), want) {
			missing += fmt.Sprintf("got %s\nwant %q\n", r.logged(), want)
		}
	}
	return missing
}

func (r *recorder) Name() string                 { return r.name }
func (r *recorder) Helper()                      {}
func (r *recorder) Setenv(string, string)        {}
func (r *recorder) Context() context.Context     { return r.ctx }
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool                 { r.mu.Lock(); defer r.mu.Unlock(); return r.failed }
func (r *recorder) Log(args ...any)              { r.addLog(fmt.Sprint(args...)) }
func (r *recorder) Logf(f string, args ...any)   { r.addLog(fmt.Sprintf(f, args...)) }
func (r *recorder) Fail()                        { r.mu.Lock(); defer r.mu.Unlock(); r.failed = true }
func (r *recorder) Error(args ...any)            { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(f string, args ...any) { r.Logf(f, args...); r.Fail() }
func (r *recorder) FailNow()                     { r.Fail(); runtime.Goexit() }
func (r *recorder) Fatal(args ...any)            { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(f string, args ...any) { r.Logf(f, args...); r.FailNow() }
