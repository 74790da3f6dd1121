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

// Gates is the hand on the controllers.
func (s *Supervisor) Gates() control.Gates { return gates{s} }

// Gated makes cfg's calls pass the gate of the controller that is being built:
// for those that do not get their clients from here.
func (s *Supervisor) Gated(controller string, cfg *rest.Config) *rest.Config {
	if u := s.units[controller]; u != nil {
		if g := u.currentGate(); g != nil {
			return throughGate(cfg, g)
		}
	}
	return cfg
}

type gates struct{ *Supervisor }

// runs says whether All stands for a controller too where one that runs is meant.
func runs(s Status) bool { return s.State == Running || s.State == Paused || s.State == Failed }

// Stop implements control.Gates.
func (g gates) Stop(_ context.Context, spec string) ([]string, error) {
	list, err := g.named(spec, runs)
	if err != nil {
		return nil, err
	}
	return list, g.stopUnits(list)
}

// Start implements control.Gates. All are those that were stopped or have failed.
func (g gates) Start(_ context.Context, spec string) ([]string, error) {
	list, err := g.named(spec, func(s Status) bool {
		return s.State == Failed || s.State == Off && s.Reason == stopped
	})
	if err != nil {
		return nil, err
	}
	return list, g.startUnits(list)
}

// Pause implements control.Gates.
func (g gates) Pause(ctx context.Context, spec string) ([]string, error) {
	return g.each(spec, func(u *unit) error {
		return u.meddle(func(g *gate) error { return g.pause(ctx) })
	})
}

// Resume implements control.Gates.
func (g gates) Resume(_ context.Context, spec string) ([]string, error) {
	return g.each(spec, func(u *unit) error { return u.letGo((*gate).resume) })
}

// Restore implements control.Gates.
func (g gates) Restore(_ context.Context, spec string) ([]string, error) {
	return g.each(spec, func(u *unit) error { return u.letGo((*gate).restore) })
}

// Delay implements control.Gates.
func (g gates) Delay(_ context.Context, spec string, d time.Duration) ([]string, error) {
	if d <= 0 {
		return nil, usage.Errorf("delay %v: choose a longer one, or restore the controller", d)
	}
	return g.each(spec, func(u *unit) error {
		return u.meddle(func(g *gate) error { g.setDelay(d); return nil })
	})
}

// Fail implements control.Gates.
func (g gates) Fail(_ context.Context, spec string, f control.Fault) ([]string, error) {
	if err := checkFault(f); err != nil {
		return nil, err
	}
	return g.each(spec, func(u *unit) error {
		return u.meddle(func(g *gate) error { g.setFault(f); return nil })
	})
}

// Step implements control.Gates.
func (g gates) Step(ctx context.Context, name string) (*control.Stepped, error) {
	u, err := g.one(name)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, control.StepWait)
	defer cancel()
	gate := u.currentGate()
	if gate == nil {
		return nil, usage.Errorf("controller %s: %w", u.name, errNotPaused)
	}
	step, err := gate.step(ctx, wait)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", u.name, err)
	}
	return step, nil
}

// Held implements control.Gates.
func (g gates) Held(_ context.Context, name string, limit int) (list control.HeldList, err error) {
	u, err := g.one(name)
	if err != nil {
		return list, err
	}
	list = control.HeldList{Controller: u.name, Paused: u.status().State == Paused, Items: []control.Held{}}
	gate := u.currentGate()
	if gate == nil {
		return list, nil
	}
	held, total := gate.list(limit)
	list.Total = total
	for _, h := range held {
		list.Items = append(list.Items, h.held())
	}
	return list, nil
}

// each does something to controllers, all at once; All are those that run.
func (g gates) each(spec string, do func(*unit) error) ([]string, error) {
	list, err := g.named(spec, func(s Status) bool { return s.State == Running || s.State == Paused })
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

func (g gates) one(spec string) (*unit, error) {
	list, err := g.named(spec, nil)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, usage.Errorf("%q: name one controller", spec)
	}
	return g.units[list[0]], nil
}

// named lists the controllers that names or aliases with commas between them
// stand for; all is which of them control.All stands for, nil that it may not.
func (g gates) named(spec string, all func(Status) bool) (list []string, err error) {
	if spec == control.All && all != nil {
		for _, s := range g.Units() {
			if all(s) {
				list = append(list, s.Name)
			}
		}
		return list, nil
	}
	known, aliases := known(g.cfg.Extra)
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
