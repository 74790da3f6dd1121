package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// journal records what steps do.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) add(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

// step returns a step that records its run and its close.
func (j *journal) step(name string) startStep {
	return startStep{
		run:   func(context.Context) error { j.add("run " + name); return nil },
		close: func() error { j.add("close " + name); return nil },
	}
}

func TestStepsRunInOrderAndCloseBackwards(t *testing.T) {
	j, p := &journal{}, newControlPlane(&Server{})
	skipped := j.step("b")
	skipped.skip = true
	if err := p.runSteps(t.Context(), []startStep{j.step("a"), skipped, j.step("c")}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.close(nil), p.close(nil)); err != nil {
		t.Error(err)
	}
	want := []string{"run a", "run c", "close c", "close b", "close a"}
	if diff := cmp.Diff(want, j.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBackgroundStepOverlapsUntilTheNextWait(t *testing.T) {
	j, p := &journal{}, newControlPlane(&Server{})
	other := make(chan struct{})
	background := j.step("background")
	background.background = true
	background.run = func(context.Context) error { <-other; j.add("run background"); return nil }
	beside := j.step("beside")
	beside.run = func(context.Context) error { j.add("run beside"); close(other); return nil }
	err := p.runSteps(t.Context(), []startStep{background, beside, {wait: true}, j.step("after")})
	if err != nil {
		t.Fatal(err)
	}
	p.close(nil)
	want := []string{"run beside", "run background", "run after", "close after", "close beside", "close background"}
	if diff := cmp.Diff(want, j.entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A start that hangs says why, once.
func TestSlowStepIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warnings []string
		p := newControlPlane(&Server{OnWarning: func(msg string) { warnings = append(warnings, msg) }})
		p.observer = observe.New(observe.Options{})
		defer p.observer.Close()
		waiting := func(took time.Duration) startStep {
			return startStep{
				stage:    "readiness",
				run:      func(context.Context) error { time.Sleep(took); return nil },
				waitsFor: func(context.Context) string { return "waiting for etcd" },
			}
		}
		if err := p.runSteps(t.Context(), []startStep{waiting(slowStep - time.Second), waiting(10 * slowStep)}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"the start takes long: readiness has taken 15s so far: waiting for etcd"}; !slices.Equal(warnings, want) {
			t.Errorf("got %q, want %q", warnings, want)
		}
	})
}

// A cluster that has answered once may not answer again.
func TestSlowClusterIsReported(t *testing.T) {
	for _, endpoints := range [][]string{nil, {"http://a:1", "http://b:1"}} {
		steps := newControlPlane(&Server{Etcd: EtcdConfig{Endpoints: endpoints}}).startSteps()
		step := steps[slices.IndexFunc(steps, func(s startStep) bool { return s.stage == "etcd" })]
		switch {
		case endpoints == nil && step.waitsFor == nil:
		case endpoints == nil || step.waitsFor == nil:
			t.Errorf("endpoints %q: warns %v", endpoints, step.waitsFor != nil)
		case !strings.Contains(step.waitsFor(t.Context()), "the etcd cluster http://a:1, http://b:1"):
			t.Errorf("got %q", step.waitsFor(t.Context()))
		}
	}
}

// Writing a large snapshot takes long, though the cluster answers.
func TestSlowWriteIntoAClusterIsReported(t *testing.T) {
	p := newControlPlane(&Server{Etcd: EtcdConfig{Endpoints: []string{"http://a:1"}}})
	describe := p.describeCluster()
	during := ""
	if err := p.whileWriting(func() error { during = describe(t.Context()); return nil }); err != nil {
		t.Fatal(err)
	}
	if during != "writing the snapshot into the etcd cluster http://a:1: if this does not end, check that most of its members are running" {
		t.Errorf("while it is written: %q", during)
	}
	if after := describe(t.Context()); !strings.HasPrefix(after, "waiting for the etcd cluster http://a:1: check that most of its members are running") {
		t.Errorf("after that: %q", after)
	}
}

func TestFirstFailureEndsTheStart(t *testing.T) {
	failure := errors.New("no")
	failing := func(context.Context) error { return failure }
	waiting := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("Ctrl-C"))
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		steps []startStep
		want  string
	}{
		{"in the foreground", t.Context(), []startStep{{run: waiting, background: true}, {run: failing}}, "no"},
		{"in the background", t.Context(), []startStep{{run: failing, background: true}, {run: waiting}}, "no"},
		{"at the wait", t.Context(), []startStep{{run: failing, background: true}, {wait: true}}, "no"},
		{"at the end", t.Context(), []startStep{{run: failing, background: true}}, "no"},
		{"interrupted", interrupted, []startStep{{run: waiting}}, "the start was interrupted: Ctrl-C"},
		{"interrupted between steps", interrupted, []startStep{{skip: true}}, "the start was interrupted: Ctrl-C"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &journal{}
			last := j.step("last")
			steps := tt.steps
			if tt.name != "at the end" {
				steps = append(slices.Clone(steps), last)
			}
			err := newControlPlane(&Server{}).runSteps(tt.ctx, steps)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if len(j.entries) > 0 {
				t.Errorf("%q, want that no step follows the failure", j.entries)
			}
		})
	}
}

// A step that is stopped because another one has failed is reported as stopped, whatever error it has then.
func TestStoppedStepsAreReportedAsStopped(t *testing.T) {
	ended := map[string]error{}
	var mu sync.Mutex
	p := newControlPlane(&Server{OnStage: func(s Stage) {
		mu.Lock()
		defer mu.Unlock()
		if s.Ended {
			ended[s.Name] = s.Err
		}
	}})
	p.observer = observe.New(observe.Options{})
	defer p.observer.Close()
	failure := errors.New("no")
	_ = p.runSteps(t.Context(), []startStep{ // the failure below
		{stage: "etcd", background: true, run: func(ctx context.Context) error { <-ctx.Done(); return errors.New("its listener was closed") }},
		{stage: "options", run: func(context.Context) error { return failure }},
	})
	if !errors.Is(ended["etcd"], context.Canceled) || !errors.Is(ended["options"], failure) || errors.Is(ended["options"], context.Canceled) {
		t.Errorf("got %v", ended)
	}
}

// TestInterruptAfterTheLastStep interrupts a start that other processes already take for
// complete: it has succeeded, and is stopped like any other.
func TestInterruptAfterTheLastStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	last := startStep{run: func(context.Context) error { cancel(); return nil }}
	if err := newControlPlane(&Server{}).runSteps(ctx, []startStep{last}); err != nil {
		t.Errorf("got %v, want success", err)
	}
}

func TestEtcdFailureIsTheCauseOfOthers(t *testing.T) {
	p := newControlPlane(&Server{})
	err := p.runSteps(t.Context(), []startStep{{run: func(context.Context) error {
		p.etcd.err = errors.New("etcd: disk full")
		close(p.etcd.started)
		return errors.New("the API server cannot connect")
	}}})
	if err == nil || err.Error() != "etcd: disk full" {
		t.Errorf("got %v, want etcd's failure", err)
	}
}

func TestCloseDoesNotRepeatTheCause(t *testing.T) {
	failure := errors.New("etcd: disk full")
	p := newControlPlane(&Server{})
	p.onClose(func() error { return errors.New("log file: disk full") })
	p.onClose(func() error { return failure })
	if err := p.close(fmt.Errorf("etcd ended: %w", failure)); err == nil || err.Error() != "log file: disk full" {
		t.Errorf("got %v, want only what the cause does not say", err)
	}
}

func TestStartStepsNameEachStageOnce(t *testing.T) {
	var stages []string
	for _, step := range newControlPlane(&Server{Manifests: []string{"x"}}).startSteps() {
		if step.stage != "" {
			stages = append(stages, step.stage)
		}
		if (step.run == nil) != step.wait {
			t.Errorf("step %q: a step either runs or waits", step.stage)
		}
	}
	// Other processes can connect last: a reset undoes what they write.
	want := "data folder, etcd, certificates, options, API server, nodes, controllers, readiness, settling, manifests, kubeconfig"
	if steps := newControlPlane(&Server{}).startSteps(); steps[len(steps)-1].stage != "kubeconfig" {
		t.Errorf("a step follows the kubeconfig: %+v", steps[len(steps)-1])
	}
	if got := strings.Join(stages, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
