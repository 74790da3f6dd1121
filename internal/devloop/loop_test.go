package devloop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a program and a control plane that write down what is done with them.
type fake struct {
	buildTime, prepareTime time.Duration
	buildErr, prepareErr   error
	startErr               error
	exits                  chan string // ends the current run with an outcome

	mu      sync.Mutex
	done    []string
	running int
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, fmt.Sprintf(format, args...))
}

func (f *fake) Build(ctx context.Context) error {
	select {
	case <-time.After(f.buildTime):
		return f.buildErr
	case <-ctx.Done():
		f.note("build canceled")
		return ctx.Err()
	}
}

func (f *fake) prepare(_ context.Context, changed []string) error {
	time.Sleep(f.prepareTime)
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	if running > 0 {
		return errors.New("prepared while a run was active")
	}
	f.note("prepare %s", strings.Join(changed, ","))
	return f.prepareErr
}

type fakeProcess struct {
	f       *fake
	exited  chan struct{}
	once    sync.Once
	outcome string
}

func (f *fake) Start() (Process, error) {
	if f.startErr != nil {
		return nil, f.startErr
	}
	p := &fakeProcess{f: f, exited: make(chan struct{})}
	f.mu.Lock()
	f.running++
	f.mu.Unlock()
	f.note("start")
	go func() {
		select {
		case p.outcome = <-f.exits:
			close(p.exited)
		case <-p.exited:
		}
	}()
	return p, nil
}

func (p *fakeProcess) Exited() <-chan struct{} { return p.exited }
func (p *fakeProcess) Outcome() string         { return p.outcome }
func (p *fakeProcess) Stop() {
	p.once.Do(func() {
		p.f.mu.Lock()
		p.f.running--
		p.f.mu.Unlock()
		p.f.note("stop")
		select {
		case <-p.exited:
		default:
			close(p.exited)
		}
	})
}

// run runs a loop with a fake, changes files as change does, and returns what was done and
// reported.
func (f *fake) run(t *testing.T, change func(changes chan<- []string)) (reports []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.exits = make(chan string)
		ctx, cancel := context.WithCancel(t.Context())
		changes := make(chan []string)
		l := Loop{Program: f, Prepare: f.prepare, Changes: changes, Report: func(e Event) {
			reports = append(reports, strings.TrimSpace(fmt.Sprintf("%d %s %s%s", e.Run,
				[]string{"changed", "prepared", "built", "started", "exited", "failed"}[e.Step], strings.Join(e.Files, ","), e.Text)))
		}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.Run(ctx)
		}()
		synctest.Wait()
		time.Sleep(time.Hour)
		change(changes)
		time.Sleep(time.Hour)
		cancel()
		<-ended
		if f.running != 0 {
			t.Errorf("%d runs are left", f.running)
		}
	})
	return reports
}

func requireDone(t *testing.T, f *fake, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}

func TestLoopRestartsOnAChange(t *testing.T) {
	f := &fake{buildTime: time.Second, prepareTime: time.Millisecond}
	reports := f.run(t, func(c chan<- []string) { c <- []string{"a.go"} })
	requireDone(t, f, "prepare ", "start", "stop", "prepare a.go", "start", "stop")
	want := []string{"1 prepared", "1 built", "1 started", "2 changed a.go", "2 prepared", "2 built", "2 started"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestLoopBuildsWhileItPrepares is why a restart is faster than doing the same by hand.
func TestLoopBuildsWhileItPrepares(t *testing.T) {
	f := &fake{buildTime: 3 * time.Second, prepareTime: 2 * time.Second}
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		l := Loop{Program: f, Prepare: f.prepare, Changes: make(chan []string), Report: func(e Event) {
			if e.Step == Started {
				took = time.Since(began)
				cancel()
			}
		}}
		f.exits = make(chan string)
		l.Run(ctx)
	})
	if took != 3*time.Second {
		t.Errorf("started after %v, want the time of the build alone", took)
	}
}

// TestLoopDoesNotRepeatACrash has a run that ends by itself.
func TestLoopDoesNotRepeatACrash(t *testing.T) {
	f := &fake{}
	reports := f.run(t, func(c chan<- []string) {
		f.exits <- "exit code 2"
		time.Sleep(time.Hour)
		c <- []string{"a.go"}
	})
	requireDone(t, f, "prepare ", "start", "stop", "prepare a.go", "start", "stop")
	if want := "1 exited exit code 2"; reports[3] != want {
		t.Errorf("reported %q, want %q", reports[3], want)
	}
}

func TestLoopWaitsAfterABuildError(t *testing.T) {
	f := &fake{buildErr: errors.New("main.go:1: syntax error")}
	reports := f.run(t, func(c chan<- []string) {
		f.buildErr = nil
		c <- []string{"main.go"}
	})
	requireDone(t, f, "prepare ", "prepare main.go", "start", "stop")
	if !strings.Contains(strings.Join(reports, "\n"), "1 failed main.go:1: syntax error") {
		t.Errorf("reports: %q", reports)
	}
}

func TestLoopWaitsAfterAFailedStart(t *testing.T) {
	f := &fake{startErr: errors.New("no such command")}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ")
	if got := reports[len(reports)-1]; got != "1 failed no such command" {
		t.Errorf("reported %q", got)
	}
}

// TestLoopRemembersWhatWasNotApplied has a control plane that rejects a definition: the
// next change has to apply it again.
func TestLoopRemembersWhatWasNotApplied(t *testing.T) {
	f := &fake{}
	f.run(t, func(c chan<- []string) {
		f.prepareErr = errors.New("rejected")
		c <- []string{"crd.yaml"}
		time.Sleep(time.Hour)
		f.prepareErr = nil
		c <- []string{"main.go"}
	})
	requireDone(t, f, "prepare ", "start", "stop", "prepare crd.yaml", "prepare crd.yaml,main.go", "start", "stop")
}

// TestLoopChangeDuringTheBuild changes a file twice: what the first change would have
// built is of no use.
func TestLoopChangeDuringTheBuild(t *testing.T) {
	f := &fake{buildTime: time.Minute}
	reports := f.run(t, func(c chan<- []string) {
		c <- []string{"a.go"}
		time.Sleep(time.Second)
		c <- []string{"b.go"}
	})
	requireDone(t, f, "prepare ", "start", "stop", "prepare a.go", "build canceled", "prepare b.go", "start", "stop")
	want := []string{"1 prepared", "1 built", "1 started", "2 changed a.go", "2 prepared", "3 changed b.go", "3 prepared", "3 built", "3 started"}
	if diff := cmp.Diff(want, reports[:]); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestLoopEndsDuringTheBuild ends while it builds and prepares.
func TestLoopEndsDuringTheBuild(t *testing.T) {
	f := &fake{buildTime: 24 * time.Hour}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ", "build canceled")
	if diff := cmp.Diff([]string{"1 prepared"}, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}
