package learn

import (
	"errors"
	"slices"
	"strings"
)

// errLeftOut says that the reader goes on without a part that has failed.
var errLeftOut = errors.New("left out")

// leaveOut notes that the rest of a step is left out: it is about what was not done.
func (r *runner) leaveOut(s *Step) {
	if title := "“" + s.Title + "”"; !slices.Contains(r.leftOut, title) {
		r.leftOut = append(r.leftOut, title)
	}
	r.printf("%s\n", r.faint("The rest of this step is left out."))
}

// warnLeftOut says that earlier steps, on which this one may depend, were not completed.
func (r *runner) warnLeftOut() {
	if len(r.leftOut) > 0 {
		r.printf("%s\n", r.wrap(r.bad(r.Glyph("! ", "! ")), "  ", r.renderInline("Not completed: "+strings.Join(r.leftOut, ", ")+". What you see may differ from what this step says.")))
	}
}

// closingText is the last line of a lesson.
func (r *runner) closingText() string {
	if len(r.leftOut) == 0 {
		return "You have completed lesson " + r.lesson.label() + "."
	}
	return "This is the end of lesson " + r.lesson.label() + ". Not completed: " + strings.Join(r.leftOut, ", ") + "."
}
