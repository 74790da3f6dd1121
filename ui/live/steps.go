package live

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/objectdiff"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// steppedView shows a write released by a step, and its changes.
type steppedView struct {
	controller, title string
	diff              []line
}

func newSteppedView(controller string, s *control.SteppedWrite) *steppedView {
	seen := &steppedView{controller: controller}
	seen.title = words.OneLine(s.String() + ": " + s.Outcome())
	diff, err := objectdiff.Unified(s)
	switch {
	case err != nil:
		seen.diff = []line{styledLine(words.OneLine(err.Error()), bad)}
	case s.UnknownReason != "":
		seen.diff = []line{styledLine("changes unknown: "+words.OneLine(s.UnknownReason), faint)}
	case diff == "":
		seen.diff = []line{styledLine("no changes", faint)}
	default:
		for i, l := range words.Lines(diff) {
			seen.diff = append(seen.diff, styleDiffLine(i, l))
		}
	}
	return seen
}

// diffHeaderLines is the number of file headers in a unified diff.
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

// addStep adds a step, in place of the one before of its controller.
func (m model) addStep(s *steppedView) model {
	m.steps = append(slices.DeleteFunc(slices.Clone(m.steps), func(o *steppedView) bool { return o.controller == s.controller }), s)
	m.message = s.title + "; press d for the diff"
	if m.overlay == stepOverlay && m.shownStep.controller == s.controller {
		m.shownStep, m.overlayView, m.message = s, viewport{}, s.title
	}
	return m
}

// dropSteps drops those of controllers that were resumed, restarted or removed.
func (m model) dropSteps() model {
	m.steps = slices.DeleteFunc(slices.Clone(m.steps), func(s *steppedView) bool { return m.stateOf(s.controller) != statePaused })
	return m
}

// stepOf returns the last step of a paused controller, or of all if the name is empty; nil if none.
func (m model) stepOf(controller string) *steppedView {
	if m.past != nil {
		return nil
	}
	for _, s := range slices.Backward(m.steps) {
		if controller == "" || s.controller == controller {
			return s
		}
	}
	return nil
}

// showStep shows the last step of the selected controller.
func (m model) showStep() model {
	name := m.targetController()
	if s := m.stepOf(name); s != nil {
		m.shownStep = s
		return m.openOverlay(stepOverlay)
	}
	m.message = "no step to show: press p to pause a controller, then s"
	if name != "" {
		m.message = "no step to show: " + name + " has made none since it was paused"
		if m.stateOf(name) != statePaused {
			m.message = "no step to show: " + name + " is not paused"
		}
	}
	return m
}
