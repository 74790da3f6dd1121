package observe

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

func newTestObserver(t *testing.T, o Options) *Observer {
	t.Helper()
	ob := New(o)
	t.Cleanup(func() {
		if err := ob.Close(); err != nil {
			t.Error(err)
		}
	})
	return ob
}

func TestScopeIsInheritedAndRestored(t *testing.T) {
	o := newTestObserver(t, Options{})
	a, b := o.Recorder("a"), o.Recorder("b")
	if got := currentRecorder(); got != nil {
		t.Fatalf("outside: %v", got.name)
	}
	a.Do(func() {
		var wg sync.WaitGroup
		wg.Go(func() {
			if currentRecorder() != a {
				t.Error("a child goroutine does not inherit its parent's scope")
			}
			b.Do(func() {
				if currentRecorder() != b {
					t.Error("the inner scope is not in effect")
				}
			})
			if currentRecorder() != a {
				t.Error("the outer scope is not restored")
			}
		})
		wg.Wait()
	})
	if got := currentRecorder(); got != nil {
		t.Errorf("afterwards: %v", got.name)
	}
}

// Foreign label sets are never mistaken for ours, whatever they contain.
func TestForeignProfilerLabelsAreIgnored(t *testing.T) {
	for _, labels := range []pprof.LabelSet{
		pprof.Labels(), pprof.Labels("controller", "x"), pprof.Labels("a", "1", "controller", "x", "z", "2"),
	} {
		pprof.Do(t.Context(), labels, func(context.Context) {
			if got := currentRecorder(); got != nil {
				t.Errorf("mistook foreign labels for %q", got.name)
			}
		})
	}
}

// The runtime reads our scopes as label sets of its own: this fails if the layouts
// differ.
func TestGoroutineProfileHasControllerLabel(t *testing.T) {
	o := newTestObserver(t, Options{})
	var profile bytes.Buffer
	o.Recorder("deployment-controller").Do(func() {
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
	})
	if want := `labels: {"controller":"deployment-controller"}`; !strings.Contains(profile.String(), want) {
		t.Errorf("no %s in the profile:\n%s", want, profile.String())
	}
}

// A goroutine that outlives the control plane does not keep it in memory.
func TestCloseReleasesOptions(t *testing.T) {
	collected := make(chan struct{})
	end := make(chan struct{})
	defer close(end)
	func() {
		part := &struct{ big [1 << 20]byte }{}
		runtime.AddCleanup(part, func(struct{}) { close(collected) }, struct{}{})
		o := New(Options{Process: func() Process { return Process{PID: int(part.big[0])} }})
		o.Recorder("c").Do(func() { go func() { <-end }() })
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Snapshot(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-t.Context().Done():
			t.Fatal("the options are still referenced")
		case <-time.After(time.Millisecond):
		}
	}
}

// currentRecorder returns the recorder that the calling goroutine works for, or nil.
func currentRecorder() *Recorder {
	if s := currentScope(); s != nil {
		return s.recorder
	}
	return nil
}
