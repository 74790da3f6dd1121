package observe

import (
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// EndedOperator is how the operator that "ctrlplane dev" runs has ended, or why it could not be started. dev starts it again when
// a source changes.
type EndedOperator struct {
	Time   time.Time `json:"time"`   // when it ended
	Reason string    `json:"reason"` // such as "the operator exited with code 1: TypeError: x is not a function"
}

// Cause says how the operator has ended, on one line: "it exited with code 1". It is empty if that runs.
func (e EndedOperator) Cause() string {
	why := e.Reason
	if does, ok := strings.CutPrefix(why, "the operator "); ok {
		why = "it " + does
	}
	return words.OneLine(why)
}

// SetEndedOperator notes that the operator of "ctrlplane dev" has ended; the zero value, that it runs or is being started.
func (o *Observer) SetEndedOperator(e EndedOperator) { o.endedOperator.Store(&e) }

func (o *Observer) readEndedOperator() EndedOperator {
	if e := o.endedOperator.Load(); e != nil {
		return *e
	}
	return EndedOperator{}
}
