// Package verbs treats the methods of control.Interventions that change several controllers or
// clients as one, and so the two that make a step.
package verbs

import (
	"context"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// The verbs, each of a method.
const (
	Stop   = "stop"
	Start  = "start"
	Pause  = "pause"
	Resume = "resume"
	Delay  = "delay"
	Fail   = "fail"
	Clear  = "clear"
	Scale  = "scale"
	Remove = "remove"
)

// All are the verbs.
var All = []string{Stop, Start, Pause, Resume, Delay, Fail, Clear, Scale, Remove}

// Change is what a method is called for.
type Change struct {
	Verb    string
	Delay   time.Duration // of Delay
	Fault   control.Fault // of Fail
	Workers int           // of Scale
}

// IsUndo reports whether the change ends what another verb has set.
func (c Change) IsUndo() bool { return c.Verb == Resume || c.Verb == Clear }

// Apply calls the method of i.
func (c Change) Apply(ctx context.Context, i control.Interventions, names []string) ([]string, error) {
	switch c.Verb {
	case Stop:
		return i.Stop(ctx, names)
	case Start:
		return i.Start(ctx, names)
	case Pause:
		return i.Pause(ctx, names)
	case Resume:
		return i.Resume(ctx, names)
	case Delay:
		return i.Delay(ctx, names, c.Delay)
	case Fail:
		return i.Fail(ctx, names, c.Fault)
	case Clear:
		return i.Clear(ctx, names)
	case Scale:
		return i.Scale(ctx, names, c.Workers)
	case Remove:
		return i.Remove(ctx, names)
	}
	return nil, fmt.Errorf("unknown verb %q", c.Verb)
}

// Methods implements the methods with a function.
type Methods func(ctx context.Context, names []string, c Change) ([]string, error)

// Stop implements control.Interventions, as do the others.
func (m Methods) Stop(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Stop})
}

func (m Methods) Start(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Start})
}

func (m Methods) Pause(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Pause})
}

func (m Methods) Resume(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Resume})
}

func (m Methods) Delay(ctx context.Context, names []string, d time.Duration) ([]string, error) {
	return m(ctx, names, Change{Verb: Delay, Delay: d})
}

func (m Methods) Fail(ctx context.Context, names []string, f control.Fault) ([]string, error) {
	return m(ctx, names, Change{Verb: Fail, Fault: f})
}

func (m Methods) Clear(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Clear})
}

func (m Methods) Scale(ctx context.Context, names []string, workers int) ([]string, error) {
	return m(ctx, names, Change{Verb: Scale, Workers: workers})
}

func (m Methods) Remove(ctx context.Context, names []string) ([]string, error) {
	return m(ctx, names, Change{Verb: Remove})
}

// Steps implements the methods that make a step with a function. It waits for a write until wait ends.
type Steps func(ctx, wait context.Context, name string) (*control.SteppedWrite, error)

// Step implements control.Interventions.
func (s Steps) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	wait, cancel := context.WithTimeout(ctx, control.StepTimeout)
	defer cancel()
	return s(ctx, wait, name)
}

// StepHeld implements control.Interventions, with a wait that has ended.
func (s Steps) StepHeld(ctx context.Context, name string) (*control.SteppedWrite, error) {
	wait, cancel := context.WithCancel(ctx)
	cancel()
	return s(ctx, wait, name)
}
