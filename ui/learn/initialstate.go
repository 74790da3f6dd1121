package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// initialState is the state of controllers, clients and nodes before the lesson.
type initialState struct {
	controllers   map[string]bool // by name
	interventions []ui.Intervention
	nodes         map[string]control.Node
}

// endedTimeout is how long it may take until the control plane knows that a process has ended whose end was awaited.
const endedTimeout = 2 * time.Second

// recordState records the state of controllers, clients and nodes.
func (p *controlPlane) recordState(ctx context.Context) (*initialState, error) {
	now, err := p.control.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	h := &initialState{controllers: map[string]bool{}, interventions: ui.Interventions(now), nodes: map[string]control.Node{}}
	for _, c := range now.Controllers {
		h.controllers[c.Name] = true
	}
	list, err := p.control.Nodes().List(ctx)
	if err != nil { // without the nodes, all would be removed as added ones
		return nil, err
	}
	for _, n := range list {
		h.nodes[n.Name] = n
	}
	return h, nil
}

// addMissingNodes adds nodes until the lesson has as many ready ones as it needs.
func (p *controlPlane) addMissingNodes(ctx context.Context, need int) error {
	list, err := p.control.Nodes().List(ctx)
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range list {
		if n.Ready == "True" && !n.Failed && !n.Unschedulable {
			ready++
		}
	}
	if ready >= need {
		return nil
	}
	if _, err := p.control.Nodes().Add(ctx, need-ready); err != nil {
		return fmt.Errorf("cannot add nodes: the lesson needs %d ready nodes: %w", need, err)
	}
	return p.waitNodesReady(ctx, need)
}

// waitNodesReady waits until this number of nodes is ready.
func (p *controlPlane) waitNodesReady(ctx context.Context, nodes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removalTimeout, fmt.Errorf("%d nodes are not ready after %v: check that no controller is paused or stopped", nodes, removalTimeout))
	defer cancel()
	return pollUntil(ctx, func() (bool, error) {
		list, err := p.control.Nodes().List(ctx)
		n := 0
		for _, node := range list {
			if node.Ready == "True" {
				n++
			}
		}
		return n >= nodes, err
	})
}

// revertState reverts changes of controllers, clients and nodes. left says what of nodes it has left as it is.
func (p *controlPlane) revertState(ctx context.Context, h *initialState, namespace string) (left []string, err error) {
	if h == nil {
		return nil, nil
	}
	left, err = p.revertNodes(ctx, h, namespace)
	return left, errors.Join(err, p.revertInterventions(ctx, h), p.removeOperators(ctx, h))
}

// revertInterventions ends the interventions that were not there before the lesson, except those in controllers of operators
// that are new: removeOperators removes these.
func (p *controlPlane) revertInterventions(ctx context.Context, h *initialState) error {
	now, err := p.control.Snapshot(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range ui.Interventions(now) {
		interventions := p.control.Interventions()
		if i.OfClient {
			interventions = p.control.ClientInterventions()
		} else if observe.IsReported(i.Controller) && !h.controllers[i.Controller] {
			continue
		}
		for _, change := range h.changesToUndo(i) {
			_, err := interventions.Change(ctx, []string{i.Controller}, change)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// changesToUndo returns the changes that end what an intervention has in addition to the one before the lesson.
func (h *initialState) changesToUndo(i ui.Intervention) (list []control.Change) {
	var before [][2]string
	at := slices.IndexFunc(h.interventions, func(was ui.Intervention) bool { return was.Controller == i.Controller && was.OfClient == i.OfClient })
	if at >= 0 {
		before = h.interventions[at].Undo()
	}
	for _, undo := range i.Undo() {
		if slices.Contains(before, undo) {
			continue
		}
		switch verb := undo[0]; verb {
		case control.Start: // with the interventions of before the stop
			list = append(list, control.Change{Verb: verb})
			if at < 0 {
				list = append(list, control.Change{Verb: control.Clear}, control.Change{Verb: control.Resume})
			}
		case control.Scale:
			list = append(list, control.Change{Verb: verb, Workers: i.Set.ConfiguredWorkers})
		default:
			list = append(list, control.Change{Verb: verb})
		}
	}
	return list
}

// removeOperators removes the controllers of operators that the lesson has started: those that are new, and have
// ended. One that runs on is another one's.
func (p *controlPlane) removeOperators(ctx context.Context, h *initialState) error {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	err := pollUntil(ctx, func() (bool, error) {
		list, err := p.control.Controllers(ctx)
		if err != nil {
			return false, err
		}
		running := 0
		for _, c := range list {
			if h.controllers[c.Name] || !observe.IsReported(c.Name) {
				continue
			}
			is := &observe.Controller{Name: c.Name, State: c.State, Process: c.Process, Gone: c.Gone}
			if !is.HasEnded() || is.IsSilent() {
				running++
				continue
			}
			_, err := p.control.Interventions().Remove(ctx, []string{c.Name})
			switch {
			case errors.As(err, new(usage.Error)): // it has started again
				running++
			case err != nil:
				return false, err
			}
		}
		return running == 0, nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
