package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/parallel"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Interventions returns the interventions in the controllers of this supervisor.
// They resolve names and apply to units; package intervene does the work.
func (s *Supervisor) Interventions() control.Interventions { return interventions{s} }

// InterceptCalls makes the calls of cfg's clients pass the gate of the
// controller that is being built, and returns cfg. It is for controllers that do
// not get their clients from the supervisor.
func (s *Supervisor) InterceptCalls(controller string, cfg *rest.Config) *rest.Config {
	if u := s.units[controller]; u != nil {
		if g := u.currentGate(); g != nil {
			return intervene.InterceptCalls(cfg, g)
		}
	}
	return cfg
}

type interventions struct{ *Supervisor }

// Stop implements control.Interventions.
func (i interventions) Stop(ctx context.Context, names []string) ([]string, error) {
	unlock, err := i.lockResumed(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := i.resolveNames(names, func(s Status) bool { return s.State.isRunning() || s.State == Failed })
	if err != nil {
		return nil, err
	}
	return i.stopUnits(list)
}

// Start implements control.Interventions.
func (i interventions) Start(ctx context.Context, names []string) ([]string, error) {
	unlock, err := i.lockResumed(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := i.resolveNames(names, func(s Status) bool {
		return s.State == Failed || s.State == Off && s.Reason == stoppedReason
	})
	if err != nil {
		return nil, err
	}
	return i.startUnits(list)
}

// Pause implements control.Interventions.
func (i interventions) Pause(ctx context.Context, names []string) ([]string, error) {
	return i.applyToGates(ctx, names, func(g *intervene.Gate) error { return g.Pause(ctx) })
}

// Resume implements control.Interventions.
func (i interventions) Resume(ctx context.Context, names []string) ([]string, error) {
	return i.clearFromGates(ctx, names, (*intervene.Gate).Resume)
}

// Delay implements control.Interventions.
func (i interventions) Delay(ctx context.Context, names []string, d time.Duration) ([]string, error) {
	if err := intervene.ValidateDelay(d); err != nil {
		return nil, err
	}
	return i.applyToGates(ctx, names, func(g *intervene.Gate) error { return g.SetDelay(d) })
}

// Fail implements control.Interventions.
func (i interventions) Fail(ctx context.Context, names []string, f control.Fault) ([]string, error) {
	if err := intervene.ValidateFault(f); err != nil {
		return nil, err
	}
	if err := i.CheckResource(f.Resource); err != nil {
		return nil, err
	}
	return i.applyToGates(ctx, names, func(g *intervene.Gate) error { return g.SetFault(f) })
}

// Clear implements control.Interventions.
func (i interventions) Clear(ctx context.Context, names []string) ([]string, error) {
	return i.clearFromGates(ctx, names, (*intervene.Gate).ClearFaults)
}

// Step implements control.Interventions.
func (i interventions) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	wait, cancel := intervene.Waiting(ctx)
	defer cancel()
	return i.step(ctx, wait, name)
}

// StepHeld implements control.Interventions.
func (i interventions) StepHeld(ctx context.Context, name string) (*control.SteppedWrite, error) {
	return i.step(ctx, intervene.NotWaiting(ctx), name)
}

func (i interventions) step(ctx, wait context.Context, name string) (*control.SteppedWrite, error) {
	u, err := i.resolveOne(name)
	if err != nil {
		return nil, err
	}
	for {
		before, err := i.waitResumed(wait)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the writes that were held have been refused
			return nil, nil
		}
		step, err := u.step(ctx, wait)
		if !errors.Is(err, intervene.ErrNotPaused) || i.suspension.Load() == before {
			return step, err
		}
	}
}

// HeldWrites implements control.Interventions.
func (i interventions) HeldWrites(_ context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	u, err := i.resolveOne(name)
	if err != nil {
		return list, err
	}
	list = control.HeldWriteList{Controller: u.name, Paused: u.isPaused(), Items: []control.HeldWrite{}}
	if gate := u.currentGate(); gate != nil {
		list.Items, list.Total = gate.HeldWrites(limit)
	}
	return list, nil
}

// applyToGates changes the gates of controllers in parallel, and returns the names of
// these controllers.
func (i interventions) applyToGates(ctx context.Context, names []string, apply func(*intervene.Gate) error) (changed []string, err error) {
	err = i.whileResumed(ctx, func() (err error) {
		changed, err = i.applyOnce(names, apply)
		return err
	})
	return changed, err
}

func (i interventions) applyOnce(names []string, apply func(*intervene.Gate) error) ([]string, error) {
	list, err := i.resolveNames(names, func(s Status) bool { return s.State.isRunning() })
	if err != nil {
		return nil, err
	}
	return list, parallel.For(len(list), func(n int) error {
		if err := i.units[list[n]].applyIntervention(apply); err != nil {
			return fmt.Errorf("controller %s: %w", list[n], err)
		}
		return nil
	})
}

// clearFromGates removes an intervention from the gates of controllers, and returns the
// names of the controllers that had it.
func (i interventions) clearFromGates(ctx context.Context, names []string, remove func(*intervene.Gate) bool) (cleared []string, err error) {
	err = i.whileResumed(ctx, func() error {
		list, err := i.resolveNames(names, func(s Status) bool { return s.State.isRunning() })
		if err != nil {
			return err
		}
		for _, name := range list {
			if i.units[name].clearIntervention(remove) && !slices.Contains(cleared, name) {
				cleared = append(cleared, name)
			}
		}
		return nil
	})
	return cleared, err
}

// CheckResource refuses a resource, as RESOURCE or RESOURCE.GROUP, that the API
// server does not serve: a fault in it would never occur. It accepts any while
// controllers start or a snapshot is restored, and if discovery fails.
func (s *Supervisor) CheckResource(resource string) error {
	if resource == "" || !s.mu.TryLock() {
		return nil
	}
	informers := s.informers
	s.mu.Unlock()
	if informers == nil {
		return nil
	}
	want := schema.ParseGroupResource(resource)
	served, err := informers.mapper.ResourcesFor(want.WithVersion(""))
	if err == nil {
		for _, gvr := range served {
			if gvr.Resource == want.Resource && (want.Group == "" || gvr.Group == want.Group) {
				return nil
			}
		}
		return usage.Errorf("resource %q: unknown: did you mean %q?", resource, served[0].GroupResource())
	}
	if meta.IsNoMatchError(err) {
		return usage.Errorf(`resource %q: unknown: "kubectl api-resources" lists them`, resource)
	}
	return nil
}

// resolveOne returns the controller with that name or alias.
func (i interventions) resolveOne(name string) (*unit, error) {
	list, err := i.resolveNames([]string{name}, nil)
	if err != nil {
		return nil, err
	}
	return i.units[list[0]], nil
}

// resolveNames returns the names of controllers, each once, that are given by
// name or alias. For control.AllControllers it returns those that all selects;
// nil means that all controllers are not allowed.
func (i interventions) resolveNames(names []string, all func(Status) bool) (list []string, err error) {
	if all != nil && slices.Equal(names, []string{control.AllControllers}) {
		for _, s := range i.Statuses() {
			if all(s) {
				list = append(list, s.Name)
			}
		}
		return list, nil
	}
	if len(names) == 0 {
		return nil, usage.Errorf(`no controller is named: "ctrlplane controllers" lists them`)
	}
	known, aliases := knownControllers(i.cfg.Extra)
	for _, name := range names {
		if canonical := aliases[name]; canonical != "" {
			name = canonical
		}
		if !slices.Contains(known, name) {
			return nil, usage.Errorf("unknown controller %q: %s", name, suggestController(name, known, aliases))
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}
