package clients

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ControllerInterventions returns the interventions in the controllers that clients report
// and in those of this process, which own intervenes in. isOwn reports whether a name or an
// alias is one of the latter. The gate is in the API server: the calls of a controller are
// known by their syncs.
func (c *Clients) ControllerInterventions(own control.Intervener, isOwn func(string) bool) control.Interventions {
	return control.NewInterventions(controllerInterventions{own: own, clients: c, isOwn: isOwn})
}

type controllerInterventions struct {
	own     control.Intervener
	clients *Clients
	isOwn   func(string) bool
}

var errReported = errors.New("it is a controller of another process, which cannot be stopped, started or scaled from here: pause it, or make its calls fail")

// Change changes the controllers of this process with those of names that are its own, and
// the gates of the others. Nothing is changed if a name is unknown or own refuses.
func (i controllerInterventions) Change(ctx context.Context, names []string, c control.Change) (changed []string, err error) {
	if c.Verb == control.Remove {
		return i.remove(ctx, names)
	}
	if isOfProcess(c) {
		if err := i.refuseReported(names); err != nil {
			return nil, err
		}
		return i.own.Change(ctx, names, c)
	}
	if err := intervene.ValidateChange(c, i.clients.config.CheckResource); err != nil {
		return nil, err
	}
	var reported []*reportedController
	var rest []string
	release, err := keepFound(func() (err error) {
		reported, rest, err = i.split(names)
		return err
	}, func() (func(), bool) { return i.clients.keepControllers(reported) })
	if err != nil {
		return nil, err
	}
	defer release()
	if len(rest) > 0 || len(reported) == 0 {
		if changed, err = i.own.Change(ctx, rest, c); err != nil {
			return changed, err
		}
	}
	others, err := intervene.ChangeEach("controller", reported, func(rc *reportedController) string { return rc.name }, func(rc *reportedController) (bool, error) {
		defer rc.changed()
		return rc.gate.Change(ctx, c)
	})
	return append(changed, others...), err
}

// remove removes controllers whose process has ended, and the interventions in them. Nothing is removed if a name is
// that of another controller. One whose process may be suspended is only removed by name: its writes would not be held
// when it continues.
func (i controllerInterventions) remove(ctx context.Context, names []string) (removed []string, err error) {
	list := i.clients.sortedControllers()
	if slices.Equal(names, []string{control.All}) {
		list = slices.DeleteFunc(list, func(rc *reportedController) bool { return rc.isLive() || rc.isSilent() })
	} else if list, err = i.findEnded(ctx, list, names); err != nil {
		return nil, err
	}
	for _, rc := range list {
		if i.clients.removeEnded(rc) {
			removed = append(removed, rc.name)
		}
	}
	return removed, nil
}

// findEnded returns the controllers of a list with these names. Their process has ended.
func (i controllerInterventions) findEnded(ctx context.Context, list []*reportedController, names []string) (found []*reportedController, err error) {
	for _, name := range names {
		var rc *reportedController
		if at := slices.IndexFunc(list, func(rc *reportedController) bool { return rc.name == name }); at >= 0 {
			rc = list[at]
		} else if rc, err = i.find(name); err != nil {
			return nil, err
		}
		switch {
		case rc == nil:
			if _, err := i.own.Change(ctx, []string{name}, control.Change{Verb: control.Remove}); err != nil { // it removes none
				return nil, err
			}
		case rc.isLive():
			return nil, usage.Errorf("controller %q cannot be removed: its process runs: end that first", rc.name)
		default:
			found = append(found, rc)
		}
	}
	return found, nil
}

func (i controllerInterventions) refuseReported(names []string) error {
	for _, name := range names {
		if rc, err := i.find(name); rc != nil || err != nil {
			return usage.Errorf("controller %q: %w", name, errors.Join(err, errReported))
		}
	}
	return nil
}

// StepWithin implements control.Intervener.
func (i controllerInterventions) StepWithin(ctx context.Context, name string, d time.Duration) (*control.SteppedWrite, error) {
	rc, err := i.find(name)
	switch {
	case err != nil:
		return nil, err
	case rc == nil:
		return i.own.StepWithin(ctx, name, d)
	}
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return rc.gate.StepOf(ctx, wait, "controller "+rc.name)
}

// HeldWrites implements control.Intervener.
func (i controllerInterventions) HeldWrites(ctx context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	rc, err := i.find(name)
	switch {
	case err != nil:
		return list, err
	case rc == nil:
		return i.own.HeldWrites(ctx, name, limit)
	}
	return heldWrites(rc.name, rc.gate, limit), nil
}

// split returns the reported controllers among names, each once, and the other names.
func (i controllerInterventions) split(names []string) (reported []*reportedController, rest []string, err error) {
	if slices.Equal(names, []string{control.All}) {
		return i.clients.sortedControllers(), names, nil
	}
	for _, name := range names {
		rc, err := i.find(name)
		switch {
		case err != nil:
			return nil, nil, err
		case rc == nil:
			rest = append(rest, name)
		case !slices.Contains(reported, rc):
			reported = append(reported, rc)
		}
	}
	return reported, rest, nil
}

// find returns the reported controller with that name: the whole name, or a part of it if only
// one has that, of those whose process runs if there is one. It returns nil for others, which own
// knows or refuses.
func (i controllerInterventions) find(name string) (*reportedController, error) {
	if rc := i.clients.controllerNamed(name); rc != nil {
		return rc, nil
	}
	if i.isOwn(name) {
		return nil, nil
	}
	var found, live []*reportedController
	var known []string
	for _, rc := range i.clients.sortedControllers() {
		if rc.hasShortName(name) {
			if found = append(found, rc); rc.isLive() {
				live = append(live, rc)
			}
		}
		known = append(known, rc.name)
	}
	if len(live) > 0 {
		found = live
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, usage.Errorf("%q is the name of %d controllers: name one of %s", name, len(found), words.Quote(namesOf(found)))
	case observe.IsReported(name):
		return nil, usage.Errorf("unknown controller %q: %s", name, suggest.Hint(name, known, `"ctrlplane controllers" lists them`))
	}
	return nil, nil
}

// controllerNamed returns the controller with a name. If its process does not run and nothing is
// set on it, that is the only one of the same program that runs: another user has started it.
func (c *Clients) controllerNamed(name string) *reportedController {
	list := c.sortedControllers()
	at := slices.IndexFunc(list, func(rc *reportedController) bool { return rc.name == name })
	if at < 0 {
		return nil
	}
	named := list[at]
	if named.isLive() || named.gate.IsActive() {
		return named
	}
	same := slices.DeleteFunc(list, func(rc *reportedController) bool {
		return rc.program() != named.program() || rc.shortName != named.shortName || !rc.isLive()
	})
	if len(same) == 1 {
		return same[0]
	}
	return named
}

func namesOf(list []*reportedController) (names []string) {
	for _, rc := range list {
		names = append(names, rc.name)
	}
	return names
}
