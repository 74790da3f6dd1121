package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Interventions returns the interventions in clients. Names are those of clients, or of
// programs with one client, or one that is connected. Clients cannot be stopped, started or scaled.
func (c *Clients) Interventions() control.Interventions {
	return control.NewInterventions(interventions{c})
}

type interventions struct{ *Clients }

var errOwnProcess = errors.New("a client is a process of its own: it cannot be stopped, started, scaled or removed from here: pause it, or make its calls fail")

// isOfProcess reports whether a change is one that only the process with the controller can make.
func isOfProcess(c control.Change) bool {
	return slices.Contains([]string{control.Stop, control.Start, control.Scale, control.Remove}, c.Verb)
}

// StepWithin implements control.Intervener.
func (i interventions) StepWithin(ctx context.Context, name string, d time.Duration) (*control.SteppedWrite, error) {
	cl, err := i.resolveOne(name)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return cl.gate.StepOf(ctx, wait, "client "+cl.name)
}

// HeldWrites implements control.Intervener.
func (i interventions) HeldWrites(_ context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	cl, err := i.resolveOne(name)
	if err != nil {
		return list, err
	}
	return heldWrites(cl.name, cl.gate, limit), nil
}

// heldWrites lists what the gate of a client, or of a controller that one reports, holds.
func heldWrites(name string, gate *intervene.Gate, limit int) control.HeldWriteList {
	list := control.HeldWriteList{Controller: name, Paused: gate.Interventions().Paused}
	list.Items, list.Total = gate.HeldWrites(limit)
	return list
}

// ownProgram is the program of ctrlplane's own verbs.
const ownProgram = "ctrlplane"

// Change changes the gates of clients, and returns the names of these clients. All
// are those of the user: a failure of all requests must not keep ctrlplane's verbs from showing it.
func (i interventions) Change(ctx context.Context, names []string, c control.Change) (changed []string, err error) {
	if isOfProcess(c) {
		return nil, usage.Errorf("%w", errOwnProcess)
	}
	if err := intervene.ValidateChange(c, i.config.CheckResource); err != nil {
		return nil, err
	}
	var list []*client
	release, err := keepFound(func() (err error) {
		list, err = i.resolve(names)
		return err
	}, func() (func(), bool) { return i.keep(list) })
	if err != nil {
		return nil, err
	}
	defer release()
	if slices.Equal(names, []string{control.All}) && !c.IsUndo() {
		list = slices.DeleteFunc(slices.Clone(list), func(cl *client) bool { return cl.program() == ownProgram })
	}
	return intervene.ChangeEach("client", list, func(cl *client) string { return cl.name }, func(cl *client) (changed bool, err error) {
		if changed, err = cl.gate.Change(ctx, c); changed {
			i.publishState(cl)
		}
		return changed, err
	})
}

// publishState records the interventions that are set.
func (i interventions) publishState(cl *client) {
	if i.config.Observer == nil {
		return
	}
	e := cl.gate.Interventions().RunningState()
	e.Controller = cl.name
	i.config.Observer.Append(&e)
}

func (i interventions) resolveOne(name string) (*client, error) {
	if name == control.All {
		return nil, usage.Errorf("name one client")
	}
	list, err := i.resolve([]string{name})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// resolve returns the clients, each once, with these names or programs.
func (i interventions) resolve(names []string) (list []*client, err error) {
	known := i.sorted()
	if slices.Equal(names, []string{control.All}) {
		return known, nil
	}
	if len(names) == 0 {
		return nil, usage.Errorf(`no client is named: "ctrlplane clients" lists them`)
	}
	for _, name := range names {
		cl, err := findClient(known, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, cl) {
			list = append(list, cl)
		}
	}
	return list, nil
}

func findClient(known []*client, name string) (*client, error) {
	nameOf := func(cl *client) string { return cl.name }
	found := observe.ClientsNamed(known, name, nameOf, (*client).isConnected)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var names []string
		for _, cl := range known {
			names = append(names, cl.name, cl.program())
		}
		hint := `"ctrlplane clients" lists those that have sent a request`
		if i := slices.IndexFunc(known, func(cl *client) bool { return cl.hasInUserAgent(name) }); i >= 0 {
			hint = fmt.Sprintf("did you mean %q?", known[i].name)
		}
		return nil, usage.Errorf("unknown client %q: %s", name, suggest.Hint(name, names, hint))
	}
	var full []string
	for _, cl := range found {
		full = append(full, cl.name)
	}
	return nil, usage.Errorf("%q is the program of %d clients: name one of %s", name, len(found), words.Quote(full))
}
