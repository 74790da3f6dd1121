package live

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// SpeedController is a source that can slow down its control plane.
type SpeedController interface {
	SpeedControl() control.SpeedControl
}

// speedResult is the message that reports the result of a change of the speed, or of the
// step of a key.
type speedResult struct {
	speed    observe.Speed // empty for a step
	released *control.ReleasedKey
	err      error
}

func hasSpeed(m model) bool    { return m.speed != nil && m.snapshot.Process.Speed != "" }
func stepsKeys(m model) bool   { return hasSpeed(m) && m.snapshot.Process.Speed == observe.SpeedStep }
func canGoSlower(m model) bool { return hasSpeed(m) && m.snapshot.Process.Speed != observe.SpeedStep }
func canGoFaster(m model) bool { return hasSpeed(m) && m.snapshot.Process.Speed != observe.SpeedFull }
func canStepKey(m model) bool  { return stepsKeys(m) && !canStep(m) }
func speedIsSlow(m model) bool { return canGoFaster(m) }

// changeSpeed makes everything slower or faster.
func (m model) changeSpeed(a action) (model, tea.Cmd) {
	if !hasSpeed(m) {
		m.message = "the speed of this source cannot be changed"
		return m, nil
	}
	now := m.snapshot.Process.Speed
	next := now.Faster()
	if a == slower {
		next = now.Slower()
	}
	if next == now {
		m.message = "the speed is " + now.String() + " already"
		return m, nil
	}
	m.snapshot.Process.Speed = next // so that a second key press continues from there
	if m.settingSpeed != "" {       // one at a time, or they may arrive in another order
		m.settingSpeed = next
		return m, nil
	}
	m.settingSpeed = next
	return m, m.setSpeedCmd(next)
}

func (m model) setSpeedCmd(next observe.Speed) tea.Cmd {
	return m.speedCmd(func(ctx context.Context, speed control.SpeedControl) speedResult {
		return speedResult{speed: next, err: speed.SetSpeed(ctx, next)}
	})
}

// stepKey releases the key that has waited longest.
func (m model) stepKey() (model, tea.Cmd) {
	if m.steppingKey {
		m.message = "no key waits yet: the next one will be released"
		return m, nil
	}
	m.steppingKey = true
	if m.waitingKeys() == 0 {
		m.message = "no key waits: the next one will be released"
	}
	return m, m.speedCmd(func(ctx context.Context, speed control.SpeedControl) speedResult {
		key, err := speed.StepKey(ctx)
		return speedResult{released: key, err: err}
	})
}

func (m model) speedCmd(do func(context.Context, control.SpeedControl) speedResult) tea.Cmd {
	outer, speed := m.ctx, m.speed
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, interventionTimeout)
		defer cancel()
		return do(ctx, speed)
	}
}

func (m model) applySpeed(r speedResult) (model, tea.Cmd) {
	switch {
	case r.speed == "":
		m.steppingKey = false
	case r.err == nil && m.settingSpeed != r.speed: // keys were pressed meanwhile
		return m, m.setSpeedCmd(m.settingSpeed)
	default:
		m.settingSpeed = ""
	}
	switch {
	case r.err != nil:
		m.message = words.OneLine(r.err.Error())
	case r.speed == observe.SpeedStep:
		m.message = "step by step: every key waits until s releases it; ] ends it"
	case r.speed != "":
		m.message = "speed " + r.speed.String() + ": " + describeSpeed(r.speed)
	case r.released == nil:
		m.message = "no key has waited: all queues are empty"
	default:
		m.message = "released: " + ui.ShortName(words.OneLine(r.released.Controller)) + " works on " + ui.FormatKey(r.released.Key, r.released.KeyBasis)
	}
	return m, nil
}

func describeSpeed(s observe.Speed) string {
	if d := s.Delay(); d > 0 {
		return "a worker waits " + formatDuration(d, true) + " with each key; [ slower, ] faster"
	}
	return "nothing waits"
}

// waitingKeys returns how many keys wait because of the speed.
func (m model) waitingKeys() (n int) {
	for _, c := range m.snapshot.Controllers {
		for _, r := range c.Running {
			if r.Waits {
				n++
			}
		}
	}
	return n
}
