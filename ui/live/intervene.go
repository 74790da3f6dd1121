package live

import (
	"context"
	"fmt"
	"net/http"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/objectdiff"
	"github.com/ctrlplane/ctrlplane/ui"
)

// interventionTimeout is how long a hand on a controller may take: more than an end.
const interventionTimeout = 30 * time.Second

const statePaused = "paused"

// interventionResult is what has come of a hand on a controller.
type interventionResult struct {
	action     action
	controller string
	stepped    *control.SteppedWrite // of a step; nil if nothing was held
	err        error
}

// confirmation is what is done once it is confirmed.
type confirmation struct {
	controller string
	start      bool // or stop
}

// selectedController is the controller that keys are for; empty if that is none.
func (m model) selectedController() string {
	switch s := m.currentScreen(); {
	case s.kind == controllerScreen:
		return s.controller
	case s.kind == queuesScreen && s.view.cursor < len(m.rows):
		return m.rows[s.view.cursor].controller
	}
	return ""
}

// stateOf is the state that the snapshot tells of a controller.
func (m model) stateOf(name string) string {
	c, _ := m.findController(name)
	return c.State
}

// requestIntervention answers a key that lays a hand on a controller.
func (m model) requestIntervention(a action) (model, tea.Cmd) {
	name := m.selectedController()
	state := m.stateOf(name)
	switch {
	case m.interventions == nil:
		m.message = "this shows metrics only: pausing, stepping and stopping need ctrlplane's own controllers"
	case name == "":
		m.message = "choose a controller first, in the list of queues or on its page"
	case state == "":
		m.message = name + " is no controller that can be paused, stepped or stopped"
	case m.inProgress != "":
		m.message = "wait: " + m.inProgress
	case a == stepOnce && state != statePaused:
		m.message = name + " is not paused: p pauses it"
	case a == stepOnce && m.stepping:
		m.message = "wait: nothing is held, a step lets the next write through"
	case a == stepOnce:
		m.stepping = true
		return m, m.runIntervention(interventionResult{action: a, controller: name}, m.stepFunc(name))
	case a == stopStart:
		m.confirming = &confirmation{name, state == stateOff || state == stateFailed}
	case state == statePaused:
		return m.startIntervention(a, name, "resume", m.interventions.Resume)
	default:
		return m.startIntervention(a, name, "pause", m.interventions.Pause)
	}
	return m, nil
}

// startIntervention begins what takes the name of a controller.
func (m model) startIntervention(a action, name, verb string, do func(context.Context, []string) ([]string, error)) (model, tea.Cmd) {
	m.inProgress = verb + " " + name
	return m, m.runIntervention(interventionResult{action: a, controller: name}, func(ctx context.Context, h *interventionResult) {
		_, h.err = do(ctx, []string{name})
	})
}

func (m model) stepFunc(name string) func(context.Context, *interventionResult) {
	gates := m.interventions
	return func(ctx context.Context, h *interventionResult) { h.stepped, h.err = gates.Step(ctx, name) }
}

// runIntervention does something to a controller beside the view.
func (m model) runIntervention(h interventionResult, do func(context.Context, *interventionResult)) tea.Cmd {
	outer := m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, interventionTimeout)
		defer cancel()
		do(ctx, &h)
		return h
	}
}

// answerConfirmation takes the answer to the question of x.
func (m model) answerConfirmation(key string) (model, tea.Cmd) {
	i := *m.confirming
	switch key {
	case "y", "enter":
		m.confirming = nil
		if i.start {
			return m.startIntervention(stopStart, i.controller, "start", m.interventions.Start)
		}
		return m.startIntervention(stopStart, i.controller, "stop", m.interventions.Stop)
	case "n", "esc", "q", "x":
		m.confirming = nil
	}
	return m, nil
}

// applyIntervention applies what has come of a hand.
func (m model) applyIntervention(h interventionResult) model {
	if h.action == stepOnce {
		m.stepping = false
	} else {
		m.inProgress = ""
	}
	switch {
	case h.err != nil:
		m.message = sanitize(h.err.Error())
	case h.action != stepOnce: // its state tells
	case h.stepped == nil:
		m.message = h.controller + " holds nothing"
	default:
		m.stepped = newSteppedView(h.controller, h.stepped)
		m.overlayView = viewport{}
		m.message = m.stepped.title + "; d shows the difference"
		if m.currentScreen().kind == controllerScreen || m.overlay == stepOverlay {
			m.message = m.stepped.title
		}
	}
	return m
}

// steppedView is a write that was let through, and what it has changed.
type steppedView struct {
	controller, title string
	diff              []line
}

func newSteppedView(controller string, s *control.SteppedWrite) *steppedView {
	seen := &steppedView{controller: controller}
	outcome := fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status))
	if s.Error != "" {
		outcome = s.Error
	}
	seen.title = sanitize(describeWrite(s.HeldWrite) + ": " + outcome)
	diff, err := objectdiff.Unified(s)
	switch {
	case err != nil:
		seen.diff = []line{styledLine(sanitize(err.Error()), bad)}
	case s.UnknownReason != "":
		seen.diff = []line{styledLine("what it has changed is not known: "+sanitize(s.UnknownReason), faint)}
	case diff == "":
		seen.diff = []line{styledLine("nothing has changed", faint)}
	default:
		for i, l := range sanitizeLines(diff) {
			seen.diff = append(seen.diff, styleDiffLine(i, l))
		}
	}
	return seen
}

// describeWrite is a write as one would say it.
func describeWrite(h control.HeldWrite) string {
	text := h.Verb + " " + h.Object.String()
	if h.Subresource != "" {
		text += " (" + h.Subresource + ")"
	}
	return text
}

// diffHeaderLines is how many lines a diff has before what differs.
const diffHeaderLines = 2

func styleDiffLine(i int, l string) line {
	styles := map[byte]style{'+': good, '-': deletion, '@': accent}
	switch {
	case i < diffHeaderLines:
		return styledLine(l, strong)
	case l == "":
		return nil
	}
	return styledLine(l, styles[l[0]])
}

// activeInterventions are what is done to controllers, by hand.
func (m model) activeInterventions() []ui.Intervention { return ui.Interventions(m.snapshot) }
