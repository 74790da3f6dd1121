package trace

import (
	"fmt"
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
}

func (e *UnknownChangeError) Error() string {
	return fmt.Sprintf("%s: no record that it was %s since the last start of the control plane%s", e.About, e.What, missedNote(e.Missed))
}

// Sentence says since when causes are known, after what is said about the state of the object.
func (e *UnknownChangeError) Sentence(s Style) string {
	if e.Missed > 0 {
		return "What led to it is not known: " + words.Count(e.Missed, "older record") + " were dropped."
	}
	return "What led to it is not known: the records begin at " + newPainter(s, phrases{}).formatClock(e.Begin) + ", with the last start of the control plane."
}

func missedNote(missed uint64) string {
	if missed == 0 {
		return ""
	}
	return fmt.Sprintf(" (dropped %s)", words.Count(missed, "older record"))
}
