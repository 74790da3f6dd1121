package live

import (
	"context"
	"fmt"
	"net/http"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/ui"
)

// handTimeout is how long a hand on a controller may take: more than an end.
const handTimeout = 30 * time.Second

const statePaused = "paused"

// handed is what has come of a hand on a controller.
type handed struct {
	action     action
	controller string
	stepped    *control.Stepped // of a step; nil if nothing was held
	err        error
}

// intent is what is done once it is confirmed.
type intent struct {
	controller string
	start      bool // or stop
}

// selected is the controller that keys are for; empty if that is none.
func (m model) selected() string {
	switch s := m.top(); {
	case s.kind == controllerScreen:
		return s.controller
	case s.kind == queuesScreen && s.list.cursor < len(m.rows):
		return m.rows[s.list.cursor].controller
	}
	return ""
}

// stateOf is the state that the snapshot tells of a controller.
func (m model) stateOf(name string) string {
	c, _ := m.controller(name)
	return c.State
}

// handOn answers a key that lays a hand on a controller.
func (m model) handOn(a action) (model, tea.Cmd) {
	name := m.selected()
	state := m.stateOf(name)
	switch {
	case m.gates == nil:
		m.said = "this shows metrics only: pausing, stepping and stopping need ctrlplane's own controllers"
	case name == "":
		m.said = "choose a controller first, in the list of queues or on its page"
	case state == "":
		m.said = name + " is no controller that can be paused, stepped or stopped"
	case m.doing != "":
		m.said = "wait: " + m.doing
	case a == stepOnce && state != statePaused:
		m.said = name + " is not paused: p pauses it"
	case a == stepOnce && m.stepping:
		m.said = "wait: nothing is held, a step lets the next write through"
	case a == stepOnce:
		m.stepping = true
		return m, m.hand(handed{action: a, controller: name}, m.stepOf(name))
	case a == stopStart:
		m.intent = &intent{name, state == stateOff || state == stateFailed}
	case state == statePaused:
		return m.act(a, name, "resume", m.gates.Resume)
	default:
		return m.act(a, name, "pause", m.gates.Pause)
	}
	return m, nil
}

// act begins what takes the name of a controller.
func (m model) act(a action, name, verb string, do func(context.Context, string) ([]string, error)) (model, tea.Cmd) {
	m.doing = verb + " " + name
	return m, m.hand(handed{action: a, controller: name}, func(ctx context.Context, h *handed) {
		_, h.err = do(ctx, name)
	})
}

func (m model) stepOf(name string) func(context.Context, *handed) {
	gates := m.gates
	return func(ctx context.Context, h *handed) { h.stepped, h.err = gates.Step(ctx, name) }
}

// hand does something to a controller beside the view.
func (m model) hand(h handed, do func(context.Context, *handed)) tea.Cmd {
	outer := m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, handTimeout)
		defer cancel()
		do(ctx, &h)
		return h
	}
}

// intended takes the answer to the question of x.
func (m model) intended(key string) (model, tea.Cmd) {
	i := *m.intent
	switch key {
	case "y", "enter":
		m.intent = nil
		if i.start {
			return m.act(stopStart, i.controller, "start", m.gates.Start)
		}
		return m.act(stopStart, i.controller, "stop", m.gates.Stop)
	case "n", "esc", "q", "x":
		m.intent = nil
	}
	return m, nil
}

// took applies what has come of a hand.
func (m model) took(h handed) model {
	if h.action == stepOnce {
		m.stepping = false
	} else {
		m.doing = ""
	}
	switch {
	case h.err != nil:
		m.said = clean(h.err.Error())
	case h.action != stepOnce: // its state tells
	case h.stepped == nil:
		m.said = h.controller + " holds nothing"
	default:
		m.stepped = newStep(h.controller, h.stepped)
		m.page = list{}
		m.said = m.stepped.title + "; d shows the difference"
		if m.top().kind == controllerScreen || m.overlay == stepOverlay {
			m.said = m.stepped.title
		}
	}
	return m
}

// stepSeen is a write that was let through, and what it has changed.
type stepSeen struct {
	controller, title string
	diff              []line
}

func newStep(controller string, s *control.Stepped) *stepSeen {
	seen := &stepSeen{controller: controller}
	outcome := fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status))
	if s.Error != "" {
		outcome = s.Error
	}
	seen.title = clean(write(s.Held) + ": " + outcome)
	diff, err := s.Diff()
	switch {
	case err != nil:
		seen.diff = []line{text(clean(err.Error()), bad)}
	case s.Unseen != "":
		seen.diff = []line{text("what it has changed is not known: "+clean(s.Unseen), faint)}
	case diff == "":
		seen.diff = []line{text("nothing has changed", faint)}
	default:
		for i, l := range cleanLines(diff) {
			seen.diff = append(seen.diff, diffLine(i, l))
		}
	}
	return seen
}

// write is a write as one would say it.
func write(h control.Held) string {
	text := h.Verb + " " + h.Object.String()
	if h.Subresource != "" {
		text += " (" + h.Subresource + ")"
	}
	return text
}

// diffHead is how many lines a diff has before what differs.
const diffHead = 2

func diffLine(i int, l string) line {
	styles := map[byte]style{'+': good, '-': gone, '@': accent}
	switch {
	case i < diffHead:
		return text(l, strong)
	case l == "":
		return nil
	}
	return text(l, styles[l[0]])
}

// hands are what is done to controllers, by hand.
func (m model) hands() []ui.Hand { return ui.Hands(m.snapshot) }
