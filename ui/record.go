package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// FormatRecord returns a record as one line of text: time, controller, action and
// result, separated by two spaces.
func FormatRecord(r observe.Record) string {
	var fields []string
	switch e := r.Event.(type) {
	case *observe.BootStep:
		fields = []string{"start", e.Step, compactDuration(e.Took), e.Error}
	case *observe.ControllerChanged:
		fields = []string{e.Controller, "is " + e.State, e.Reason}
	case *observe.QueueChanged:
		fields = []string{e.Controller, "queue", e.Queue, fmt.Sprintf("depth %d (max %d), in flight %d, adds %d, done %d, retries %d",
			e.Depth, e.MaxDepth, e.InFlight, e.Adds, e.Done, e.Retries)}
	case *observe.Delivered:
		fields = []string{receivers(e), string(e.Change), e.Object.String(), formatQueues(e.Queues), compactDuration(e.Took)}
	case *observe.Called:
		fields = []string{e.Controller, e.Verb, formatCallTarget(e), formatStatusCode(e.Status), compactDuration(e.Took) + heldNote(e), callError(e)}
		if ke := e.Event; ke != nil && !e.IsFailure() { // what it says, not its name
			fields = []string{e.Controller, strings.ToLower(ke.Type), ke.Reason, ke.Regarding.String(), ke.Note}
		}
	case *observe.Synced:
		fields = []string{e.Controller, "sync", formatSyncKey(e), syncOutcome(e), compactDuration(e.Took), e.Error}
	case *observe.Logged:
		fields = []string{e.Controller, levelName(e), e.Message, formatAttrs(ShownAttrs(e))}
	}
	return joinFields(append([]string{formatTime(r.Time)}, fields...))
}

// joinFields joins the fields that are not empty.
func joinFields(fields []string) string {
	var line []string
	for _, f := range fields {
		if f = words.OneLine(f); f != "" {
			line = append(line, f)
		}
	}
	return strings.Join(line, "  ")
}

func formatTime(t time.Time) string { return t.Format("15:04:05.000") }

// compactDuration formats a duration without spaces, so that tools such as awk
// can split a line into columns.
func compactDuration(d time.Duration) string { return strings.ReplaceAll(words.Duration(d), " ", "") }

// heldNote says for how long an intervention has held a call; "" if none has.
func heldNote(c *observe.Called) string {
	if c.Held == 0 {
		return ""
	}
	return " (held " + compactDuration(c.Held) + ")"
}

// receivers names the controllers that have received an event.
func receivers(e *observe.Delivered) string {
	if len(e.AlsoTo) == 0 {
		return e.Controller
	}
	return e.Controller + " and " + CountNoun(len(e.AlsoTo), "other")
}

func formatQueues(queues []string) string {
	if len(queues) == 0 {
		return ""
	}
	return "queued in " + strings.Join(queues, ", ")
}

func formatCallTarget(e *observe.Called) string {
	if e.Subresource == "" {
		return e.Object.String()
	}
	return e.Object.String() + " (" + e.Subresource + ")"
}

func formatStatusCode(code int) string {
	if code == 0 {
		return "no response"
	}
	return strconv.Itoa(code)
}

// callError says why a call failed.
func callError(e *observe.Called) string {
	switch {
	case e.Conflict && e.Error == "":
		return "conflict"
	case e.Conflict:
		return "conflict: " + e.Error
	}
	return e.Error
}

func formatSyncKey(e *observe.Synced) string {
	key := e.Key
	switch {
	case key == "":
		key = "unknown key"
	case e.KeyBasis.Inferred():
		key = "likely " + key
	}
	return e.Queue + ": " + key
}

// FormatKey marks with "~" a key that is inferred, and with "?" one that is unknown.
func FormatKey(key string, b observe.Basis) string {
	switch {
	case key == "":
		return "?"
	case b.Inferred():
		return "~" + words.OneLine(key)
	}
	return words.OneLine(key)
}

func syncOutcome(e *observe.Synced) string {
	switch {
	case e.Error != "" && e.Retried:
		return "failed, will retry"
	case e.Error != "":
		return "failed"
	case e.Retried:
		return "will retry"
	}
	return "done"
}

func levelName(l *observe.Logged) string {
	switch {
	case l.IsError():
		return "error"
	case l.IsWarning():
		return "warning"
	case l.Level >= 0:
		return "info"
	}
	return "debug"
}

// ShownAttrs returns the attributes of a log line, without the one that its message begins
// with: "speed: ½×".
func ShownAttrs(e *observe.Logged) []observe.Attr {
	return slices.DeleteFunc(slices.Clone(e.Attrs), func(a observe.Attr) bool { return strings.HasPrefix(e.Message, a.Key+": ") })
}

func formatAttrs(list []observe.Attr) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.String()
	}
	return strings.Join(words, " ")
}
