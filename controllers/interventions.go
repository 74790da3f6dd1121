package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Interventions is the hand on the controllers.
func (s *Supervisor) Interventions() control.Interventions { return interventions{s} }

// InterceptCalls makes cfg's calls pass the gate of the controller that is being built:
// for those that do not get their clients from here.
func (s *Supervisor) InterceptCalls(controller string, cfg *rest.Config) *rest.Config {
	if u := s.units[controller]; u != nil {
		if g := u.currentGate(); g != nil {
			return InterceptCalls(cfg, g)
		}
	}
	return cfg
}

type interventions struct{ *Supervisor }

// isActive says whether All stands for a controller too where one that runs is meant.
func isActive(s Status) bool { return s.State == Running || s.State == Paused || s.State == Failed }

// Stop implements control.Gates.
func (g interventions) Stop(_ context.Context, spec string) ([]string, error) {
	list, err := g.resolveNames(spec, isActive)
	if err != nil {
		return nil, err
	}
	return list, g.stopUnits(list)
}

// Start implements control.Gates. All are those that were stopped or have failed.
func (g interventions) Start(_ context.Context, spec string) ([]string, error) {
	list, err := g.resolveNames(spec, func(s Status) bool {
		return s.State == Failed || s.State == Off && s.Reason == stoppedReason
	})
	if err != nil {
		return nil, err
	}
	return list, g.startUnits(list)
}

// Pause implements control.Gates.
func (g interventions) Pause(ctx context.Context, spec string) ([]string, error) {
	return g.forEach(spec, func(u *unit) error {
		return u.applyIntervention(func(g *Gate) error { return g.Pause(ctx) })
	})
}

// Resume implements control.Gates.
func (g interventions) Resume(_ context.Context, spec string) ([]string, error) {
	return g.forEach(spec, func(u *unit) error { return u.clearIntervention((*Gate).Resume) })
}

// Clear implements control.Gates.
func (g interventions) Clear(_ context.Context, spec string) ([]string, error) {
	return g.forEach(spec, func(u *unit) error { return u.clearIntervention((*Gate).ClearFaults) })
}

// Delay implements control.Gates.
func (g interventions) Delay(_ context.Context, spec string, d time.Duration) ([]string, error) {
	if d <= 0 {
		return nil, usage.Errorf("delay %v: choose a longer one, or restore the controller", d)
	}
	return g.forEach(spec, func(u *unit) error {
		return u.applyIntervention(func(g *Gate) error { g.SetDelay(d); return nil })
	})
}

// Fail implements control.Gates.
func (g interventions) Fail(_ context.Context, spec string, f control.Fault) ([]string, error) {
	if err := ValidateFault(f); err != nil {
		return nil, err
	}
	return g.forEach(spec, func(u *unit) error {
		return u.applyIntervention(func(g *Gate) error { g.SetFault(f); return nil })
	})
}

// Step implements control.Gates.
func (g interventions) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	u, err := g.resolveOne(name)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, control.StepTimeout)
	defer cancel()
	gate := u.currentGate()
	if gate == nil {
		return nil, usage.Errorf("controller %s: %w", u.name, ErrNotPaused)
	}
	step, err := gate.Step(ctx, wait)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", u.name, err)
	}
	return step, nil
}

// HeldWrites implements control.Gates.
func (g interventions) HeldWrites(_ context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	u, err := g.resolveOne(name)
	if err != nil {
		return list, err
	}
	list = control.HeldWriteList{Controller: u.name, Paused: u.status().State == Paused, Items: []control.HeldWrite{}}
	gate := u.currentGate()
	if gate == nil {
		return list, nil
	}
	held, total := gate.HeldWrites(limit)
	list.Total = total
	for _, h := range held {
		list.Items = append(list.Items, h.describe())
	}
	return list, nil
}

// forEach does something to controllers, all at once; All are those that run.
func (g interventions) forEach(spec string, do func(*unit) error) ([]string, error) {
	list, err := g.resolveNames(spec, func(s Status) bool { return s.State == Running || s.State == Paused })
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, name := range list {
		wg.Go(func() {
			if err := do(g.units[name]); err != nil {
				errs[i] = fmt.Errorf("controller %s: %w", name, err)
			}
		})
	}
	wg.Wait()
	return list, errors.Join(errs...)
}

func (g interventions) resolveOne(spec string) (*unit, error) {
	list, err := g.resolveNames(spec, nil)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, usage.Errorf("%q: name one controller", spec)
	}
	return g.units[list[0]], nil
}

// resolveNames lists the controllers that names or aliases with commas between them
// stand for; all is which of them control.All stands for, nil that it may not.
func (g interventions) resolveNames(spec string, all func(Status) bool) (list []string, err error) {
	if spec == control.AllControllers && all != nil {
		for _, s := range g.Statuses() {
			if all(s) {
				list = append(list, s.Name)
			}
		}
		return list, nil
	}
	known, aliases := knownControllers(g.cfg.Extra)
	for _, name := range strings.Split(spec, ",") {
		if canonical := aliases[name]; canonical != "" {
			name = canonical
		}
		if !slices.Contains(known, name) {
			hint := `"ctrlplane controllers" lists them`
			if near, ok := suggest.Nearest(name, append(slices.Collect(maps.Keys(aliases)), known...)); ok {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, usage.Errorf("unknown controller %q: %s", name, hint)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}
