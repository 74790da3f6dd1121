package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// All stands for every controller or client that a method of Interventions applies
// to, if it is the only name.
const All = "*"

// Interventions change what controllers do while they run. The interventions in clients,
// programs outside of the process, have the same methods and say "client" for
// "controller"; a client cannot be stopped, started, scaled or removed.
//
// Controllers are given by name or alias. Either all names are valid or nothing
// is changed; then the error is a usage error. Methods that take several names
// return the names of the controllers that they have changed. It is not an error
// to change nothing, for example to resume a controller that is not paused.
type Interventions interface {
	Intervener
	// Stop stops controllers, and refuses their held writes. Start builds and runs
	// them again; it applies to controllers that were stopped or have failed.
	Stop(ctx context.Context, names []string) ([]string, error)
	Start(ctx context.Context, names []string) ([]string, error)
	// Pause holds the writes of controllers, except for leases, and returns when
	// none is in flight. Resume releases the held writes.
	Pause(ctx context.Context, names []string) ([]string, error)
	Resume(ctx context.Context, names []string) ([]string, error)
	// Step releases the oldest held write of one paused controller, and returns
	// when it has been answered. The result is nil if none is held within StepTimeout.
	Step(ctx context.Context, name string) (*SteppedWrite, error)
	// StepHeld is Step without the wait: the result is nil if none can be released now, also
	// because another step is in progress.
	StepHeld(ctx context.Context, name string) (*SteppedWrite, error)
	// Delay delays each call. Fail makes calls fail. Clear removes both.
	Delay(ctx context.Context, names []string, d time.Duration) ([]string, error)
	Fail(ctx context.Context, names []string, f Fault) ([]string, error)
	Clear(ctx context.Context, names []string) ([]string, error)
	// Scale restarts controllers with another number of workers, where upstream has
	// a flag for it. Other interventions remain. It does not accept All,
	// and lasts until the control plane stops.
	Scale(ctx context.Context, names []string, workers int) ([]string, error)
	// Remove removes controllers of operators whose process has ended, with the interventions in
	// them, from all lists. Their records remain. All stands for all of these, except
	// those whose process has not reported for some time and may be suspended.
	Remove(ctx context.Context, names []string) ([]string, error)
}

// Intervener is what the methods of Interventions have in common.
type Intervener interface {
	// Change does what the method of its verb says, as Pause.
	Change(ctx context.Context, names []string, c Change) ([]string, error)
	// StepWithin is Step if wait is StepTimeout, and StepHeld if it is 0.
	StepWithin(ctx context.Context, name string, wait time.Duration) (*SteppedWrite, error)
	// HeldWrites returns at most limit held writes of one controller, the oldest first.
	HeldWrites(ctx context.Context, name string, limit int) (HeldWriteList, error)
}

// StepTimeout is how long Step waits for a write.
const StepTimeout = 20 * time.Second

// Fault is an error that is injected into calls of a controller.
type Fault = observe.Fault

// FaultCodes are the errors that can be injected, as upstream makes them: forbidden, not found, a
// conflict, which applies to writes only, an expired version, which applies to lists and watches, an object that is not valid,
// which applies to creates, updates and patches, too many requests, after which clients wait for a second, an internal error,
// an unavailable server, and a server-side timeout.
var FaultCodes = []string{"403", "404", "409", "410", "422", "429", "500", "503", "timeout"}

// HeldWrite is a write that waits until its controller is resumed or stepped.
type HeldWrite struct {
	Verb        string         `json:"verb"`
	Object      observe.Object `json:"object"` // of a create, the name may be a prefix
	Subresource string         `json:"subresource,omitempty"`
	DryRun      bool           `json:"dryRun,omitempty"` // nothing will be stored
	Since       time.Time      `json:"since"`
	// Body is the object or the patch, unless it is too long. The values of Secrets
	// are masked.
	Body json.RawMessage `json:"body,omitempty"`
}

// String returns the write as text, such as "update Pod default/web (status)".
func (h HeldWrite) String() string {
	text := h.Verb + " " + h.Object.String()
	if h.Subresource != "" {
		text += " (" + h.Subresource + ")"
	}
	if h.DryRun {
		text += " (dry run)"
	}
	return text
}

// HeldWriteList are the held writes of one controller, the oldest first.
type HeldWriteList struct {
	Controller string      `json:"controller"`
	Paused     bool        `json:"paused"`
	Items      []HeldWrite `json:"items"`
	Total      int         `json:"total"` // Items may have fewer
}

// SteppedWrite is a held write that a step has released, with its response.
type SteppedWrite struct {
	HeldWrite
	Status int    `json:"status"` // HTTP; 0 if there was no response
	Error  string `json:"error,omitempty"`
	// Before and After are the object right before and after a write that has
	// succeeded, without managed fields and a Secret's values; nil where there was
	// no object.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// UnknownReason says why neither is known of a write that has succeeded.
	UnknownReason string `json:"unseen,omitempty"`
}

// Outcome returns the status of the response and why the write has failed. The reason may begin with the status.
func (s *SteppedWrite) Outcome() string {
	status := strconv.Itoa(s.Status)
	switch {
	case s.Error == "":
		return status + " " + http.StatusText(s.Status)
	case s.Status == 0 || strings.HasPrefix(s.Error, status+" "):
		return s.Error
	}
	return status + " " + s.Error
}
