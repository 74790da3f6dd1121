package live

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// interventionTimeout limits an intervention. Stopping a controller takes less.
const interventionTimeout = 30 * time.Second

// interventionResult is the message that reports the result of an intervention.
type interventionResult struct {
	action     action
	controller string
	stepped    *control.SteppedWrite // of a step; nil if no write was held
	resumed    bool                  // the controller of a step was resumed before it wrote
	err        error
}

// confirmation is an intervention that waits for the user to confirm it.
type confirmation struct {
	controller string
	verb       string // stop, start, or remove
}

// verbOfStop returns what stopStart does with a controller; empty if it is of another process, which runs.
func (m model) verbOfStop(name string) string {
	c, _ := m.findController(name)
	c.Name = name // also of one that is not known any more
	return ui.StopVerb(&c)
}

// targetController returns the controller that keys act on: in Activity that of the selected
// line, which is none while lines move; empty if none.
func (m model) targetController() string {
	s := m.currentScreen()
	if s.focus != feedPane || s.kind == controllerScreen {
		return m.selectedController()
	}
	if e, ok := m.selectedEntry(); ok && !s.feed.following {
		return describeRecord(e.record).controller
	}
	return ""
}

// selectedController returns the controller of the selected row or of the page; empty if none, or if the picked one is gone.
func (m model) selectedController() string {
	switch s := m.currentScreen(); {
	case s.kind == controllerScreen:
		return s.controller
	case s.kind == queuesScreen && s.view.cursor < len(m.rows):
		if r := m.rows[s.view.cursor]; s.pickedRow == "" || isOfPicked(r, s.pickedRow) {
			return r.controller
		}
	case s.kind == clientsScreen:
		if id := m.rowIDAt(s.view.cursor); s.pickedRow == "" || s.pickedRow == id {
			return id
		}
	}
	return ""
}

// stateOf returns the state of a controller or client in the latest snapshot.
func (m model) stateOf(name string) string {
	if c, is := m.findClient(name); is {
		return c.State
	}
	c, _ := m.findController(name)
	return c.State
}

// requestIntervention handles a key that pauses, resumes, steps, stops or starts
// the selected controller.
func (m model) requestIntervention(a action) (model, tea.Cmd) {
	name := m.targetController()
	state := m.stateOf(name)
	if name != "" {
		m = m.pickRow()
	}
	switch {
	case name == "" && inFeed(m) && m.showsOutput():
		m.message = "no controller selected: press tab and select one, or o for Activity"
	case name == "" && inFeed(m):
		m.message = "no controller selected: select a line of Activity, or press tab and select one"
	case m.interventionsIn(name) == nil:
		m.message = "this source provides metrics only: it cannot pause, step or stop controllers"
	case name == "":
		m.message = "no controller selected: select one in the list of queues, or open its page"
	case state == "":
		m.message = name + " cannot be paused, stepped or stopped: it is not a controller"
	case m.inProgress != "":
		m.message = "still in progress: " + m.inProgress
	case a == stepOnce && state != statePaused:
		m.message = name + " is not paused: press p to pause it"
	case a == stepOnce && m.stepping:
		m.message = "a step is in progress: no write is held yet, the next one will be released"
	case a == stepOnce:
		m.stepping = true
		m.message = "the next write of " + name + " will be released"
		return m, m.runIntervention(interventionResult{action: a, controller: name}, m.stepFunc(name))
	case a == stopStart && !canStop(m):
		m.message = name + " runs in a process of its own: it cannot be stopped from here"
	case a == stopStart:
		m.confirming = &confirmation{name, m.verbOfStop(name)}
	case state == statePaused:
		return m.startIntervention(a, name, control.Resume)
	default:
		if c, _ := m.findController(name); c.HasEnded() {
			m.message = name + " has ended: the writes of its next process will be held"
			if c.IsSilent() {
				m.message = name + " has ended or is suspended: its writes, and those of its next process, will be held"
			}
		}
		return m.startIntervention(a, name, control.Pause)
	}
	return m, nil
}

// pickRow makes the cursor follow the controller or client that a key has acted on, so that the
// next key acts on the same one.
func (m model) pickRow() model {
	s := m.currentScreen()
	if (s.kind == queuesScreen || s.kind == clientsScreen) && s.focus != feedPane {
		s.pickedRow = m.rowIDAt(s.view.cursor)
	}
	return m.withCurrentScreen(s)
}

// startIntervention runs an intervention that needs only the controller's name.
func (m model) startIntervention(a action, name, verb string) (model, tea.Cmd) {
	m.inProgress = verb + " " + name
	interventions := m.interventionsIn(name)
	return m, m.runIntervention(interventionResult{action: a, controller: name}, func(ctx context.Context, result *interventionResult) {
		_, result.err = interventions.Change(ctx, []string{name}, control.Change{Verb: verb})
	})
}

func (m model) stepFunc(name string) func(context.Context, *interventionResult) {
	interventions := m.interventionsIn(name)
	return func(ctx context.Context, result *interventionResult) {
		if result.stepped, result.err = interventions.Step(ctx, name); result.err != nil {
			held, err := interventions.HeldWrites(ctx, name, 0)
			result.resumed = err == nil && !held.Paused
		}
	}
}

// runIntervention returns a command that runs an intervention in the background.
func (m model) runIntervention(result interventionResult, do func(context.Context, *interventionResult)) tea.Cmd {
	outer := m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(outer, interventionTimeout)
		defer cancel()
		do(ctx, &result)
		return result
	}
}

// answerConfirmation handles a key pressed at a stop or start question.
func (m model) answerConfirmation(key string) (model, tea.Cmd) {
	i := *m.confirming
	switch strings.ToLower(key) {
	case "y", "enter":
		m.confirming = nil
		return m.startIntervention(stopStart, i.controller, i.verb)
	case "n", "esc", "q", "x":
		m.confirming = nil
	}
	return m, nil
}

// applyIntervention applies the result of an intervention.
func (m model) applyIntervention(result interventionResult) model {
	if result.action == stepOnce {
		m.stepping = false
	} else {
		m.inProgress = ""
	}
	switch {
	case result.resumed: // the user has seen that: it was paused when s was pressed
	case result.err != nil:
		m.message = words.OneLine(result.err.Error())
	case result.action != stepOnce: // the next snapshot shows the new state
	case result.stepped == nil:
		m.message = result.controller + " has no held write"
	default:
		m = m.addStep(newSteppedView(result.controller, result.stepped))
	}
	return m
}

// activeInterventions returns the interventions in the latest snapshot.
func (m model) activeInterventions() []ui.Intervention { return ui.Interventions(m.snapshot) }
