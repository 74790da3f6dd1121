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
	prepareErr             error
	buildFails             bool
	startErr, beginErr     error
	exits                  chan string // ends the current run with an outcome

	mu      sync.Mutex
	done    []string
	running int // programs that have begun
	started int
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, fmt.Sprintf(format, args...))
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
	f             *fake
	ready, exited chan struct{}
	stopped       chan struct{}
	once          sync.Once
	begun         bool
	outcome       string
}

func (f *fake) start() (Process, error) {
	if f.startErr != nil {
		return nil, f.startErr
	}
	p := &fakeProcess{f: f, ready: make(chan struct{}), exited: make(chan struct{}), stopped: make(chan struct{})}
	f.mu.Lock()
	f.started++
	f.mu.Unlock()
	fails := f.buildFails
	go func() {
		defer close(p.exited)
		select {
		case <-time.After(f.buildTime):
		case <-p.stopped:
			return
		}
		if fails {
			p.outcome = "build failed"
			return
		}
		close(p.ready)
		select {
		case p.outcome = <-f.exits:
		case <-p.stopped:
		}
	}()
	return p, nil
}

func (p *fakeProcess) Begin() error {
	if p.f.beginErr != nil {
		return p.f.beginErr
	}
	p.f.note("begin")
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.f.running++
	p.begun = true
	return nil
}

func (p *fakeProcess) Ready() <-chan struct{}  { return p.ready }
func (p *fakeProcess) Exited() <-chan struct{} { return p.exited }
func (p *fakeProcess) Outcome() string         { return p.outcome }
func (p *fakeProcess) Stop() {
	p.once.Do(func() {
		p.f.mu.Lock()
		p.f.started--
		if p.begun {
			p.f.running--
		}
		p.f.mu.Unlock()
		p.f.note("stop")
		close(p.stopped)
		<-p.exited
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
		l := Loop{Start: f.start, Prepare: f.prepare, Changes: changes, Report: func(e Event) {
			reports = append(reports, strings.TrimSpace(fmt.Sprintf("%d %s %s%s", e.Run,
				[]string{"changed", "prepared", "ready", "began", "exited", "failed"}[e.Step], strings.Join(e.Files, ","), e.Text)))
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
		if f.started != 0 {
			t.Errorf("%d runs are left", f.started)
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

func requireReports(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestLoopRestartsOnAChange(t *testing.T) {
	f := &fake{buildTime: time.Second, prepareTime: time.Millisecond}
	reports := f.run(t, func(c chan<- []string) { c <- []string{"a.go"} })
	requireDone(t, f, "prepare ", "begin", "stop", "prepare a.go", "begin", "stop")
	requireReports(t, reports, "1 prepared", "1 ready", "1 began", "2 changed a.go", "2 prepared", "2 ready", "2 began")
}

// TestLoopBuildsWhileItPrepares is why a restart is faster than doing the same manually.
func TestLoopBuildsWhileItPrepares(t *testing.T) {
	f := &fake{buildTime: 3 * time.Second, prepareTime: 2 * time.Second}
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		l := Loop{Start: f.start, Prepare: f.prepare, Changes: make(chan []string), Report: func(e Event) {
			if e.Step == Began {
				took = time.Since(began)
				cancel()
			}
		}}
		f.exits = make(chan string)
		l.Run(ctx)
	})
	if took != 3*time.Second {
		t.Errorf("began after %v, want the time of the build alone", took)
	}
}

// TestLoopBeginsOnlyWhenPrepared has a program that is ready at once.
func TestLoopBeginsOnlyWhenPrepared(t *testing.T) {
	f := &fake{prepareTime: time.Minute}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ", "begin", "stop")
	requireReports(t, reports, "1 prepared", "1 ready", "1 began")
}

// TestLoopDoesNotRepeatACrash has a run that ends by itself.
func TestLoopDoesNotRepeatACrash(t *testing.T) {
	f := &fake{}
	reports := f.run(t, func(c chan<- []string) {
		f.exits <- "exit code 2"
		time.Sleep(time.Hour)
		c <- []string{"a.go"}
	})
	requireDone(t, f, "prepare ", "begin", "stop", "prepare a.go", "begin", "stop")
	requireReports(t, reports, "1 prepared", "1 ready", "1 began", "1 exited exit code 2", "2 changed a.go", "2 prepared", "2 ready", "2 began")
}

func TestLoopWaitsAfterABuildError(t *testing.T) {
	f := &fake{buildFails: true, buildTime: time.Second}
	reports := f.run(t, func(c chan<- []string) {
		f.buildFails = false
		c <- []string{"main.go"}
	})
	requireDone(t, f, "prepare ", "stop", "prepare main.go", "begin", "stop")
	requireReports(t, reports, "1 prepared", "1 exited build failed", "2 changed main.go", "2 prepared", "2 ready", "2 began")
}

func TestLoopWaitsAfterAFailedStart(t *testing.T) {
	f := &fake{startErr: errors.New("no such command")}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ")
	requireReports(t, reports, "1 failed no such command", "1 prepared")
}

func TestLoopWaitsAfterAFailedBegin(t *testing.T) {
	f := &fake{beginErr: errors.New("no such command")}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ", "stop")
	requireReports(t, reports, "1 prepared", "1 ready", "1 failed no such command")
}

// TestLoopRemembersWhatWasNotApplied has a control plane that rejects a definition: the
// next change has to apply it again.
func TestLoopRemembersWhatWasNotApplied(t *testing.T) {
	f := &fake{}
	reports := f.run(t, func(c chan<- []string) {
		f.prepareErr = errors.New("rejected")
		c <- []string{"crd.yaml"}
		time.Sleep(time.Hour)
		synctest.Wait()
		f.prepareErr = nil
		c <- []string{"main.go"}
	})
	requireDone(t, f, "prepare ", "begin", "stop", "prepare crd.yaml", "stop", "prepare crd.yaml,main.go", "begin", "stop")
	requireReports(t, reports, "1 prepared", "1 ready", "1 began", "2 changed crd.yaml", "2 failed rejected", "3 changed main.go", "3 prepared", "3 ready", "3 began")
}

// TestLoopChangeWhileBusy changes a second file during a build, and during a preparation: nothing
// begins that has the first change only.
func TestLoopChangeWhileBusy(t *testing.T) {
	for _, f := range []*fake{{buildTime: time.Minute}, {prepareTime: time.Minute}} {
		reports := f.run(t, func(c chan<- []string) {
			c <- []string{"a.go"}
			time.Sleep(time.Second)
			c <- []string{"b.go"}
		})
		requireDone(t, f, "prepare ", "begin", "stop", "prepare a.go", "stop", "prepare b.go", "begin", "stop")
		requireReports(t, reports, "1 prepared", "1 ready", "1 began", "2 changed a.go", "2 prepared", "3 changed b.go", "3 prepared", "3 ready", "3 began")
	}
}

// TestLoopEndsDuringTheBuild ends while it builds.
func TestLoopEndsDuringTheBuild(t *testing.T) {
	f := &fake{buildTime: 24 * time.Hour}
	reports := f.run(t, func(chan<- []string) {})
	requireDone(t, f, "prepare ", "stop")
	requireReports(t, reports, "1 prepared")
}
