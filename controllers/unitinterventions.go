package controllers

import (
	"context"
	"errors"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Paused is the state of a running controller whose writes are held.
const Paused State = observe.StatePaused

// stoppedReason is the reason of a controller that is off because it was stopped.
const stoppedReason = observe.ReasonStopped

var errStopped = errors.New("the controller was stopped before this call was sent")

// replaceGate returns a new gate, for the run that is built next. Goroutines that
// an earlier run has left behind keep their own gate, which is closed.
func (u *unit) replaceGate(objects intervene.ObjectReader, pace *intervene.Pace) *intervene.Gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gate = intervene.NewPacedGate(objects, pace)
	return u.gate
}

func (u *unit) currentGate() *intervene.Gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gate
}

// displayState returns the state with the interventions. The caller holds the lock.
func (u *unit) displayState() observe.ControllerChanged {
	if u.state != Running || u.gate == nil {
		return observe.ControllerChanged{State: string(u.state), Reason: u.reason}
	}
	set := u.gate.Interventions()
	if scaled := u.scaled.Load(); scaled != nil {
		set.Workers, set.ConfiguredWorkers = scaled.of, scaled.configured
	}
	return set.RunningState()
}

// isPaused reports whether the controller is paused, or will be again once it has been restarted.
func (u *unit) isPaused() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.displayState().State == observe.StatePaused || u.mutedIn == Paused
}

// publishState records the state. The caller holds the lock.
func (u *unit) publishState() {
	if u.mutedIn == "" {
		u.recorder.SetState(u.displayState())
	}
}

// changeGate changes the gate, and reports whether that applied. An undo does nothing to a controller that never ran;
// other changes are of one that runs.
func (u *unit) changeGate(undo bool, change gateChange) (changed bool, err error) {
	g := u.currentGate()
	switch s := u.status(); {
	case undo && g == nil:
		return false, nil
	case !undo && (g == nil || !s.State.isRunning()):
		return false, usage.Errorf("it is %s: start it first", s.State)
	}
	changed, err = change(g)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.publishState()
	return changed, err
}

// step releases the oldest held write.
func (u *unit) step(ctx, wait context.Context) (*control.SteppedWrite, error) {
	gate := u.currentGate()
	if gate == nil {
		return nil, usage.Errorf("controller %s is %w", u.name, intervene.ErrNotPaused)
	}
	return gate.StepOf(ctx, wait, "controller "+u.name)
}

// endPacing ends the waiting of the controller's syncs, which would keep it from stopping.
func (u *unit) endPacing() {
	if g := u.currentGate(); g != nil {
		g.EndPacing()
	}
}

// closeActiveGate closes a gate with an intervention, which may keep the
// controller from stopping. Without one, writes in flight may still succeed.
func (u *unit) closeActiveGate() {
	if g := u.currentGate(); g != nil {
		g.CloseIfActive(errStopped)
	}
}

// closeGate keeps goroutines that a run has left behind from calling the API server.
func (u *unit) closeGate() {
	if g := u.currentGate(); g != nil {
		g.CloseWithError(errStopped)
	}
}
