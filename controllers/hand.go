package controllers

import (
	"errors"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Paused is the state of a running controller whose writes are held.
const Paused State = "paused"

// stopped is why a controller is off that was told to end.
const stopped = "stopped"

var errStopped = errors.New("the controller was stopped before this write was carried out")

// newGate is for the life that is built next. What an earlier one has left
// behind stays behind its own gate.
func (u *unit) newGate(look looker) *gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gate = newGate()
	u.gate.look = look
	return u.gate
}

func (u *unit) currentGate() *gate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gate
}

// shown is the state with the hand that is on the gate. It needs the lock.
func (u *unit) shown() (State, string) {
	if u.state != Running || u.gate == nil {
		return u.state, u.reason
	}
	note, paused := u.gate.note()
	if to := u.scale.Load(); to != nil {
		note = strings.TrimPrefix(note+", "+to.note, ", ")
	}
	if paused {
		return Paused, note
	}
	return Running, note
}

// tell makes the state known. It needs the lock.
func (u *unit) tell() {
	if u.by != nil && !u.quiet {
		state, reason := u.shown()
		u.by.Changed(string(state), reason)
	}
}

// meddle lays a hand on the gate of a controller that runs.
func (u *unit) meddle(do func(*gate) error) error {
	g := u.currentGate()
	if s := u.status(); g == nil || s.State != Running && s.State != Paused {
		return usage.Errorf("it is %s: start it first", s.State)
	}
	err := do(g)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tell()
	return err
}

// letGo takes a hand off the gate, if there is one.
func (u *unit) letGo(do func(*gate)) error {
	g := u.currentGate()
	if g == nil {
		return nil
	}
	do(g)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tell()
	return nil
}

// shut ends a gate that a hand is on: its controller could not end otherwise.
// Without one, writes on their way may end well.
func (u *unit) shut() {
	if g := u.currentGate(); g != nil && g.touched() {
		g.end(errStopped)
	}
}

// endGate keeps what a life leaves behind from writing.
func (u *unit) endGate() {
	if g := u.currentGate(); g != nil {
		g.end(errStopped)
	}
}
