package health

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// NotHealthyError says which objects are not healthy, or not gone, and why.
type NotHealthyError struct {
	Objects []Unhealthy // in the given order
	Total   int         // number of objects waited for
	Gone    bool        // Wait waited until they are gone
	Cause   error       // why the wait ended; nil if an object can never become healthy
}

// Unhealthy is an object that is not healthy, with the reason.
type Unhealthy struct {
	State
	Reason string // one line
}

// Error names up to three of the objects.
func (e *NotHealthyError) Error() string {
	names := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		names[i] = o.Ref.String()
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	not := "not healthy"
	if e.Gone {
		not = "not gone"
	}
	text := fmt.Sprintf("%d of %s %s: %s", len(e.Objects), words.Count(e.Total, "object"), not, strings.Join(names, ", "))
	if e.Cause != nil {
		text += ": " + words.OneLine(e.Cause.Error())
	}
	return text
}

// Unwrap returns why the wait ended.
func (e *NotHealthyError) Unwrap() error { return e.Cause }

// noAnswer is before the reason why a request has no answer.
const noAnswer = "no answer from the API server: "

// plainError returns the text of an error in one line. For a request without an answer
// it leaves out the URL, which is long and varies.
func plainError(err error) string {
	if lost, ok := errors.AsType[*url.Error](err); ok {
		return noAnswer + words.OneLine(lost.Err.Error())
	}
	return words.OneLine(err.Error())
}
