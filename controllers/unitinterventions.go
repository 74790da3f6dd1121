package controllers

import (
	"errors"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Paused is the state of a running controller whose writes are held.
const Paused State = "paused"

// stoppedReason is why a controller is off that was told to end.
const stoppedReason = "stopped"

var errStopped = errors.New("the controller was stopped before this write was carried out")

// replaceGate is for the life that is built next. What an earlier one has left
// behind stays behind its own gate.
func (u *unit) replaceGate(look ObjectReader) *Gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gate = NewGate()
	u.gate.objects = look
	return u.gate
}

func (u *unit) currentGate() *Gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gate
}

// displayState is the state with the hand that is on the gate. It needs the lock.
func (u *unit) displayState() (State, string) {
	if u.state != Running || u.gate == nil {
		return u.state, u.reason
	}
	note, paused := u.gate.Describe()
	if to := u.scaled.Load(); to != nil {
		note = strings.TrimPrefix(note+", "+to.note, ", ")
	}
	if paused {
		return Paused, note
	}
	return Running, note
}

// publishState makes the state known. It needs the lock.
func (u *unit) publishState() {
	if u.recorder != nil && !u.muted {
		state, reason := u.displayState()
		u.recorder.SetState(string(state), reason)
	}
}

// applyIntervention lays a hand on the gate of a controller that runs.
func (u *unit) applyIntervention(do func(*Gate) error) error {
	g := u.currentGate()
	if s := u.status(); g == nil || s.State != Running && s.State != Paused {
		return usage.Errorf("it is %s: start it first", s.State)
	}
	err := do(g)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.publishState()
	return err
}

// clearIntervention takes a hand off the gate, if there is one.
func (u *unit) clearIntervention(do func(*Gate)) error {
	g := u.currentGate()
	if g == nil {
		return nil
	}
	do(g)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.publishState()
	return nil
}

// closeActiveGate ends a gate that a hand is on: its controller could not end otherwise.
// Without one, writes on their way may end well.
func (u *unit) closeActiveGate() {
	if g := u.currentGate(); g != nil && g.IsActive() {
		g.CloseWithError(errStopped)
	}
}

// closeGate keeps what a life leaves behind from writing.
func (u *unit) closeGate() {
	if g := u.currentGate(); g != nil {
		g.CloseWithError(errStopped)
	}
}
