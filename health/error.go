package health

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// NotHealthyError says which objects are not as they were to be.
type NotHealthyError struct {
	Objects []Unhealthy // in the order in which they were given
	Total   int         // how many were waited for
	Gone    bool        // they were to be gone, not healthy
	Cause   error       // why the wait ended; nil if there was nothing more to hope for
}

// Unhealthy is an object that is not healthy and why.
type Unhealthy struct {
	State
	Reason string // one line, as a person would look for it
}

// Error names the objects, but no more than three of them.
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
	text := fmt.Sprintf("%d of %s %s: %s", len(e.Objects), count(e.Total, "object"), not, strings.Join(names, ", "))
	if e.Cause != nil {
		text += ": " + oneLine(e.Cause.Error())
	}
	return text
}

// Unwrap returns why the wait ended.
func (e *NotHealthyError) Unwrap() error { return e.Cause }

// plainError is the text of an error in one line. Of a request without an answer the
// URL, which is long and may change, is left out.
func plainError(err error) string {
	if lost, ok := errors.AsType[*url.Error](err); ok {
		return "no answer from the API server: " + oneLine(lost.Err.Error())
	}
	return oneLine(err.Error())
}

// count is "1 Pod" or "2 Pods".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
