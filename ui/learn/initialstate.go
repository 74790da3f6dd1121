package learn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// initialState is the state of controllers and nodes before the lesson.
type initialState struct {
	controllers map[string]control.Controller
	nodes       map[string]control.Node
}

// endedTimeout is how long it may take until the control plane knows that a process has ended whose end was awaited.
const endedTimeout = 2 * time.Second

// recordState records the state of controllers and nodes, and adds missing nodes.
func (p *controlPlane) recordState(ctx context.Context, nodes int) (*initialState, error) {
	h := &initialState{controllers: map[string]control.Controller{}, nodes: map[string]control.Node{}}
	list, err := p.control.Controllers(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		h.controllers[c.Name] = c
	}
	have, err := p.control.Nodes().List(ctx)
	if err != nil {
		return nil, err
	}
	ready := 0
	for _, n := range have {
		h.nodes[n.Name] = n
		if n.Ready == "True" && !n.Failed && !n.Unschedulable {
			ready++
		}
	}
	if missing := nodes - ready; missing > 0 {
		if _, err := p.control.Nodes().Add(ctx, missing); err != nil {
			return h, fmt.Errorf("cannot add nodes: the lesson needs %d ready nodes: %w", nodes, err)
		}
		return h, p.waitNodesReady(ctx, nodes)
	}
	return h, nil
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

// revertState reverts changes of controllers and nodes. kept are the nodes of revertNodes.
func (p *controlPlane) revertState(ctx context.Context, h *initialState, namespace string) (kept []string, err error) {
	if h == nil {
		return nil, nil
	}
	kept, err = p.revertNodes(ctx, h, namespace)
	return kept, errors.Join(err, p.revertControllers(ctx, h), p.removeOperators(ctx, h))
}

func (p *controlPlane) revertControllers(ctx context.Context, h *initialState) error {
	var errs []error
	list, err := p.control.Controllers(ctx)
	if err != nil {
		return err
	}
	interventions := p.control.Interventions()
	for _, c := range list {
		was := h.controllers[c.Name]
		if c.State == was.State && c.Reason == was.Reason {
			continue
		}
		if was.State == observe.StateRunning && was.Reason == "" {
			_, err = interventions.Clear(ctx, []string{c.Name})
			errs = append(errs, err)
		}
		switch {
		case was.State == observe.StateRunning && c.State == observe.StatePaused:
			_, err = interventions.Resume(ctx, []string{c.Name})
		case was.State == observe.StateRunning && c.State == observe.StateOff && !observe.IsReported(c.Name):
			_, err = interventions.Start(ctx, []string{c.Name})
		default:
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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
			if _, had := h.controllers[c.Name]; had || !observe.IsReported(c.Name) {
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
