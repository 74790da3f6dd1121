package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Interventions returns the interventions in the controllers of this supervisor.
// They resolve names and apply to units; package intervene does the work.
func (s *Supervisor) Interventions() control.Interventions {
	return control.NewInterventions(interventions{s})
}

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

type interventions struct{ s *Supervisor }

// Change implements control.Intervener.
func (i interventions) Change(ctx context.Context, names []string, c control.Change) ([]string, error) {
	switch c.Verb {
	case control.Stop:
		return i.stop(ctx, names)
	case control.Start:
		return i.start(ctx, names)
	case control.Scale:
		return i.scale(ctx, names, c.Workers)
	case control.Remove:
		return i.remove(names)
	}
	if err := intervene.ValidateChange(c, i.s.CheckResource); err != nil {
		return nil, err
	}
	return i.changeGates(ctx, names, c.IsUndo(), func(g *intervene.Gate) (bool, error) { return g.Change(ctx, c) })
}

func (i interventions) stop(ctx context.Context, names []string) ([]string, error) {
	unlock, err := i.s.lockResumed(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := i.resolveNames(names, func(s Status) bool { return s.State.isRunning() || s.State == Failed })
	if err != nil {
		return nil, err
	}
	return i.s.stopUnits(list)
}

func (i interventions) start(ctx context.Context, names []string) ([]string, error) {
	unlock, err := i.s.lockResumed(ctx)
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
	return i.s.startUnits(list)
}

// remove removes none: the controllers of this process are part of it.
func (i interventions) remove(names []string) ([]string, error) {
	list, err := i.resolveNames(names, func(Status) bool { return false })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return nil, usage.Errorf("controller %q cannot be removed: only one of an operator whose process has ended can: stop it instead", list[0])
}

// StepWithin implements control.Intervener.
func (i interventions) StepWithin(ctx context.Context, name string, d time.Duration) (*control.SteppedWrite, error) {
	u, err := i.resolveOne(name)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		before, err := i.s.waitResumed(wait)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the writes that were held have been refused
			return nil, nil
		}
		step, err := u.step(ctx, wait)
		if !errors.Is(err, intervene.ErrNotPaused) || i.s.suspension.Load() == before {
			return step, err
		}
	}
}

// HeldWrites implements control.Intervener.
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

// gateChange changes a gate, and reports whether that applied.
type gateChange func(*intervene.Gate) (bool, error)

// changeGates changes the gates of controllers, and returns the names of those that have changed: those without what undo
// is to remove have not.
func (i interventions) changeGates(ctx context.Context, names []string, undo bool, change gateChange) (changed []string, err error) {
	err = i.s.whileResumed(ctx, func() error {
		list, err := i.resolveNames(names, func(s Status) bool { return s.State.isRunning() })
		if err != nil {
			return err
		}
		done, err := intervene.ChangeEach("controller", list, func(name string) string { return name },
			func(name string) (bool, error) { return i.s.units[name].changeGate(undo, change) })
		for _, name := range done {
			if !slices.Contains(changed, name) { // this may be another attempt
				changed = append(changed, name)
			}
		}
		return err
	})
	return changed, err
}

// CheckResource refuses a resource, as RESOURCE or RESOURCE.GROUP, or one of its subresources, as
// RESOURCE.GROUP/SUBRESOURCE, that the API server does not serve: a fault in it would never occur. It
// accepts any while controllers start or a snapshot is restored, and if discovery fails.
func (s *Supervisor) CheckResource(resource string) error {
	if resource == "" || !s.mu.TryLock() {
		return nil
	}
	informers := s.informers
	s.mu.Unlock()
	if informers == nil {
		return nil
	}
	name, subresource, one := strings.Cut(resource, "/")
	want := schema.ParseGroupResource(name)
	served, err := informers.mapper.ResourcesFor(want.WithVersion(""))
	if err == nil {
		for _, gvr := range served {
			if gvr.Resource == want.Resource && (want.Group == "" || gvr.Group == want.Group) {
				if one {
					return informers.checkSubresource(gvr, subresource)
				}
				return nil
			}
		}
		return usage.Errorf("resource %q: unknown: did you mean %q?", name, served[0].GroupResource())
	}
	if meta.IsNoMatchError(err) {
		return usage.Errorf(`resource %q: unknown: "kubectl api-resources" lists them`, name)
	}
	return nil
}

// checkSubresource refuses a subresource that the resource does not have. It accepts any if discovery fails.
func (s *sharedInformers) checkSubresource(of schema.GroupVersionResource, subresource string) error {
	list, err := s.served.ServerResourcesForGroupVersion(of.GroupVersion().String())
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range list.APIResources {
		if name, found := strings.CutPrefix(r.Name, of.Resource+"/"); found {
			names = append(names, name)
		}
	}
	if slices.Contains(names, subresource) {
		return nil
	}
	if len(names) == 0 {
		return usage.Errorf("subresource %q: %s has none: name the resource alone", subresource, of.GroupResource())
	}
	return usage.Errorf("subresource %q: not one of %s: choose %s", subresource, of.GroupResource(), strings.Join(names, ", "))
}

// resolveOne returns the controller with that name or alias.
func (i interventions) resolveOne(name string) (*unit, error) {
	list, err := i.resolveNames([]string{name}, nil)
	if err != nil {
		return nil, err
	}
	return i.s.units[list[0]], nil
}

// resolveNames returns the names of controllers, each once, that are given by
// name or alias. For control.All it returns those that all selects;
// nil means that all controllers are not allowed.
func (i interventions) resolveNames(names []string, all func(Status) bool) (list []string, err error) {
	if all != nil && slices.Equal(names, []string{control.All}) {
		for _, s := range i.s.Statuses() {
			if all(s) {
				list = append(list, s.Name)
			}
		}
		return list, nil
	}
	if len(names) == 0 {
		return nil, usage.Errorf(`no controller is named: "ctrlplane controllers" lists them`)
	}
	known, aliases := knownControllers(i.s.cfg.Extra)
	for _, name := range names {
		if canonical := aliases[name]; canonical != "" {
			name = canonical
		}
		if instead, is := i.s.cfg.Others[name]; is {
			return nil, usage.Errorf("%s is not a controller: %s", name, instead)
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
