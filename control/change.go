package control

import (
	"context"
	"time"
)

// The verbs of changes.
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

// Verbs are the verbs of changes.
var Verbs = []string{Stop, Start, Pause, Resume, Delay, Fail, Clear, Scale, Remove}

// Change is a change of what controllers or clients do.
type Change struct {
	Verb    string        `json:"-"`
	Delay   time.Duration `json:"-"`                 // of Delay
	Fault   Fault         `json:"fault,omitzero"`    // of Fail
	Workers int           `json:"workers,omitempty"` // of Scale
}

// IsUndo reports whether the change ends what another verb has set.
func (c Change) IsUndo() bool { return c.Verb == Resume || c.Verb == Clear }

// NewInterventions returns interventions whose other methods call those of i.
func NewInterventions(i Intervener) Interventions { return methods{i} }

type methods struct{ Intervener }

func (m methods) Stop(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Stop})
}

func (m methods) Start(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Start})
}

func (m methods) Pause(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Pause})
}

func (m methods) Resume(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Resume})
}

func (m methods) Delay(ctx context.Context, names []string, d time.Duration) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Delay, Delay: d})
}

func (m methods) Fail(ctx context.Context, names []string, f Fault) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Fail, Fault: f})
}

func (m methods) Clear(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Clear})
}

func (m methods) Scale(ctx context.Context, names []string, workers int) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Scale, Workers: workers})
}

func (m methods) Remove(ctx context.Context, names []string) ([]string, error) {
	return m.Change(ctx, names, Change{Verb: Remove})
}

func (m methods) Step(ctx context.Context, name string) (*SteppedWrite, error) {
	return m.StepWithin(ctx, name, StepTimeout)
}

func (m methods) StepHeld(ctx context.Context, name string) (*SteppedWrite, error) {
	return m.StepWithin(ctx, name, 0)
}
