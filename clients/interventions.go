package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/parallel"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Interventions returns the interventions in clients. Names are those of clients, or of
// programs with one client, or one that is connected. Clients cannot be stopped, started or scaled.
func (c *Clients) Interventions() control.Interventions { return interventions{c} }

type interventions struct{ *Clients }

var errOwnProcess = errors.New("a client is a process of its own: it cannot be stopped, started or scaled from here: pause it, or make its calls fail")

// Stop implements control.Interventions.
func (i interventions) Stop(context.Context, []string) ([]string, error) {
	return nil, usage.Errorf("%w", errOwnProcess)
}

// Start implements control.Interventions.
func (i interventions) Start(context.Context, []string) ([]string, error) {
	return nil, usage.Errorf("%w", errOwnProcess)
}

// Scale implements control.Interventions.
func (i interventions) Scale(context.Context, []string, int) ([]string, error) {
	return nil, usage.Errorf("%w", errOwnProcess)
}

// Pause implements control.Interventions.
func (i interventions) Pause(ctx context.Context, names []string) ([]string, error) {
	return i.apply(names, func(g *intervene.Gate) error { return g.Pause(ctx) })
}

// Resume implements control.Interventions.
func (i interventions) Resume(_ context.Context, names []string) ([]string, error) {
	return i.clear(names, (*intervene.Gate).Resume)
}

// Delay implements control.Interventions.
func (i interventions) Delay(_ context.Context, names []string, d time.Duration) ([]string, error) {
	if err := intervene.ValidateDelay(d); err != nil {
		return nil, err
	}
	return i.apply(names, func(g *intervene.Gate) error { return g.SetDelay(d) })
}

func (c *Clients) validateFault(f control.Fault) error {
	if err := intervene.ValidateFault(f); err != nil || c.config.CheckResource == nil {
		return err
	}
	return c.config.CheckResource(f.Resource)
}

// Fail implements control.Interventions.
func (i interventions) Fail(_ context.Context, names []string, f control.Fault) ([]string, error) {
	if err := i.validateFault(f); err != nil {
		return nil, err
	}
	return i.apply(names, func(g *intervene.Gate) error { return g.SetFault(f) })
}

// Clear implements control.Interventions.
func (i interventions) Clear(_ context.Context, names []string) ([]string, error) {
	return i.clear(names, (*intervene.Gate).ClearFaults)
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
	cl, err := i.resolveOne(name)
	if err != nil {
		return nil, err
	}
	return cl.gate.StepOf(ctx, wait, "client "+cl.name)
}

// HeldWrites implements control.Interventions.
func (i interventions) HeldWrites(_ context.Context, name string, limit int) (list control.HeldWriteList, err error) {
	cl, err := i.resolveOne(name)
	if err != nil {
		return list, err
	}
	return heldWrites(cl.name, cl.gate, limit), nil
}

// heldWrites lists what the gate of a client, or of a controller that one reports, holds.
func heldWrites(name string, gate *intervene.Gate, limit int) control.HeldWriteList {
	list := control.HeldWriteList{Controller: name}
	_, list.Paused = gate.Describe()
	list.Items, list.Total = gate.HeldWrites(limit)
	return list
}

// ownProgram is the program of ctrlplane's own verbs.
const ownProgram = "ctrlplane"

// apply changes the gates of clients in parallel, and returns the names of these clients. All
// are those of the user: a failure of all requests must not keep ctrlplane's verbs from showing it.
func (i interventions) apply(names []string, change func(*intervene.Gate) error) ([]string, error) {
	list, err := i.resolve(names)
	if err != nil {
		return nil, err
	}
	if slices.Equal(names, []string{control.AllControllers}) {
		list = slices.DeleteFunc(list, func(cl *client) bool { return cl.program() == ownProgram })
	}
	changed := make([]string, len(list))
	return changed, parallel.For(len(list), func(n int) error {
		cl := list[n]
		changed[n] = cl.name
		defer i.publishState(cl)
		if err := change(cl.gate); err != nil {
			return fmt.Errorf("client %s: %w", cl.name, err)
		}
		return nil
	})
}

// clear removes an intervention from the gates of clients, and returns the names of the
// clients that had it.
func (i interventions) clear(names []string, remove func(*intervene.Gate) bool) (cleared []string, err error) {
	list, err := i.resolve(names)
	if err != nil {
		return nil, err
	}
	for _, cl := range list {
		if remove(cl.gate) {
			cleared = append(cleared, cl.name)
			i.publishState(cl)
		}
	}
	return cleared, nil
}

// publishState records the interventions that are set.
func (i interventions) publishState(cl *client) {
	if i.config.Observer == nil {
		return
	}
	e := &observe.ControllerChanged{Controller: cl.name, State: "running"}
	var paused bool
	if e.Reason, paused = cl.gate.Describe(); paused {
		e.State = "paused"
	}
	i.config.Observer.Append(e)
}

func (i interventions) resolveOne(name string) (*client, error) {
	if name == control.AllControllers {
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
	if slices.Equal(names, []string{control.AllControllers}) {
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
		return nil, usage.Errorf("unknown client %q: %s", name, suggest.Hint(name, names, `"ctrlplane clients" lists those that have sent a request`))
	}
	var full []string
	for _, cl := range found {
		full = append(full, cl.name)
	}
	return nil, usage.Errorf("%q is the program of %d clients: name one of %s", name, len(found), words.Quote(full))
}
