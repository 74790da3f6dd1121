package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// UnknownChangeError says that there are records about an object, but none of the change to
// explain: a controller that starts finds objects that are older than the records.
type UnknownChangeError struct {
	About  observe.Object
	What   What
	Begin  time.Time // of the records
	Missed uint64    // records that were dropped

	created *Node   // its creation, if it was not changed after that
	later   []*Node // the last writes after that which were refused or failed
}

// newUnknownChangeError returns the error for a change that is not among the last ones of each kind.
func newUnknownChangeError(about observe.Object, what What, records []observe.Record, last *lastWrites, o Options) *UnknownChangeError {
	e := &UnknownChangeError{About: about, What: what, Begin: records[0].Time, Missed: o.Missed}
	if by := last.of[Created]; what == Changed && by != nil && (o.Missed == 0 || o.CompleteAfter != 0 && by.seq > o.CompleteAfter) {
		e.created, e.later = by, failuresAfter(by, last)
	}
	return e
}

// failuresAfter returns the last writes after one that were refused or failed, of clients, as controllers try again, and
// those of a status that the object cannot have.
func failuresAfter(by *Node, last *lastWrites) (failed []*Node) {
	for _, n := range []*Node{last.of[Refused], last.of[Failed], last.missingStatus} {
		if n != nil && compareTime(n, by) > 0 && (n.byClient || n == last.missingStatus) && !slices.Contains(failed, n) {
			failed = append(failed, n)
		}
	}
	slices.SortStableFunc(failed, compareTime)
	return failed
}

// IsAnswer reports whether the records show that there was no such change.
func (e *UnknownChangeError) IsAnswer() bool { return e.created != nil }

func (e *UnknownChangeError) Error() string {
	if e.created != nil {
		return fmt.Sprintf("%s: no record that it was changed after %s created it", e.About, phrases{}.actor(e.created))
	}
	return fmt.Sprintf("%s: no record that it was %s since the last start of the control plane%s", e.About, e.What, missedNote(e.Missed))
}

// Sentence says since when causes are known, or the object was not changed, after what is said about its state.
func (e *UnknownChangeError) Sentence(s Style) string {
	if e.created != nil {
		return e.describeUnchanged(newPainter(s, phrases{home: e.About.Namespace}))
	}
	if e.Missed > 0 {
		return "What led to it is not known: " + words.Count(e.Missed, "older record") + " were dropped."
	}
	return "What led to it is not known: the records begin at " + newPainter(s, phrases{}).formatClock(e.Begin) + ", with the last start of the control plane."
}

func (e *UnknownChangeError) describeUnchanged(p *painter) string {
	text := p.sentence(fmt.Sprintf("%s was not changed after %s created it at %s", p.fullName(e.About), p.actor(e.created), p.formatClock(e.created.Time)))
	for _, n := range e.later {
		text += " " + p.sentence("Later, at "+p.formatClock(n.Time)+", "+p.actor(n)+" "+p.outcome(n))
	}
	return text
}

func missedNote(missed uint64) string {
	if missed == 0 {
		return ""
	}
	return fmt.Sprintf(" (dropped %s)", words.Count(missed, "older record"))
}
