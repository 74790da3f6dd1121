package live

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Marks of failures.
const (
	markBad      = "!"
	markConflict = "~"
)

// bootSource is shown in place of a controller for the steps of a start.
const bootSource = "start"

// feedItem is the content of a line of the feed.
type feedItem struct {
	at         time.Time
	mark       string // "!" for errors, "~" for conflicts and other retries that are normal
	controller string
	verb       string
	verbStyle  style
	subject    string
	status     string
	took       time.Duration
	note       string          // shown last
	key        string          // of a sync
	alsoTo     []string        // other controllers, which only filters match
	object     *observe.Object // opened by enter
}

// textStyle returns the style of the subject.
func (i feedItem) textStyle() style {
	switch i.mark {
	case markBad:
		return bad
	case markConflict:
		return caution
	}
	return plain
}

// filterText returns the text that filters match.
func (i feedItem) filterText() string {
	parts := []string{i.mark, i.controller, ui.ShortName(i.controller), i.verb, i.subject, i.status, i.note}
	for _, name := range i.alsoTo {
		parts = append(parts, name, ui.ShortName(name))
	}
	return strings.Join(parts, " ")
}

// describeRecord returns the feed item of a record. All its text is sanitized.
func describeRecord(r observe.Record) feedItem {
	i := feedItem{at: r.Time}
	switch e := r.Event.(type) {
	case *observe.Called:
		i.setCall(e)
	case *observe.Synced:
		i.setSync(e)
	case *observe.Logged:
		i.setLog(e)
	case *observe.Delivered:
		i.controller, i.verb, i.verbStyle = words.OneLine(e.Controller), "event", faint
		i.subject, i.took = words.OneLine(string(e.Change))+" "+objectName(e.Object), e.Took
		i.object, i.note = openableObject(e.Object), formatQueues(e)
		if n := len(e.AlsoTo); n > 0 {
			for _, name := range e.AlsoTo {
				i.alsoTo = append(i.alsoTo, words.OneLine(name))
			}
			// The row has room for this or for the time in one of the handlers.
			i.note, i.took = "nothing queued, nor by "+ui.CountNoun(n, "other"), 0
		}
	case *observe.ControllerChanged:
		i.controller, i.verb, i.verbStyle, i.subject = words.OneLine(e.Controller), "state", accent, words.OneLine(e.State)
		if e.Reason != "" {
			i.subject += ": " + words.OneLine(e.Reason)
		}
		if e.State == stateFailed {
			i.mark = markBad
		}
	case *observe.BootStep:
		i.controller, i.verb, i.verbStyle, i.subject, i.took = bootSource, "done", good, words.OneLine(e.Step), e.Took
		if e.Error != "" {
			i.mark, i.verb, i.note = markBad, "failed", words.OneLine(e.Error)
		}
	}
	return i
}

func (i *feedItem) setCall(e *observe.Called) {
	i.controller, i.verb, i.verbStyle = words.OneLine(e.Controller), words.OneLine(e.Verb), verbStyle(e.Verb)
	i.subject, i.took, i.object = formatCallTarget(e), e.Took, openableObject(e.Object)
	if i.verb == "deletecollection" { // the target has a kind only
		i.verb = "delete"
	}
	i.status = strconv.Itoa(e.Status)
	if e.Status == 0 {
		i.status = "none"
	}
	i.note = words.OneLine(e.Error)
	if e.Event != nil && !e.Failed() {
		i.setKubernetesEvent(e.Event)
		return
	}
	switch {
	case e.Conflict:
		i.mark = markConflict
	case e.IsFailure():
		i.mark = markBad
	}
}

// setKubernetesEvent shows an Event as what it says, rather than as a call.
func (i *feedItem) setKubernetesEvent(e *observe.KubernetesEvent) {
	i.verb, i.verbStyle, i.status, i.took = "event", plain, "", 0
	i.subject = words.OneLine(e.Reason + " " + e.Regarding.String() + ": " + e.Note)
	i.object = openableObject(e.Regarding)
	if e.IsWarning() { // why comes first: the end may be cut
		i.verb, i.verbStyle = "WARN", caution
		i.subject, i.note = words.OneLine(e.Reason+": "+ui.ShortError(e.Note)), objectName(e.Regarding)
	}
}

func (i *feedItem) setSync(e *observe.Synced) {
	i.controller, i.verb, i.verbStyle = words.OneLine(e.Controller), "sync", accent
	i.subject, i.took = ui.FormatKey(e.Key, e.KeyBasis), e.Took
	if q := ui.ShortQueue(i.controller, words.OneLine(e.Queue)); q != "" {
		i.subject = q + ": " + i.subject
	}
	i.note, i.key = words.OneLine(e.Error), e.Key
	switch {
	case ui.IsNormalRetry(e.Error) && e.Retried:
		i.mark, i.status = markConflict, "retry"
	case e.Failed() && e.Retried:
		i.mark, i.status = markBad, "retry"
	case e.Failed():
		i.mark, i.status = markBad, "fail"
	default:
		i.status = "ok"
	}
	if i.note != "" {
		return
	}
	var notes []string
	if e.Retried {
		notes = append(notes, "requeued")
	}
	if e.Reads+e.Writes > 0 {
		notes = append(notes, ui.CountNoun(e.Reads, "read"), ui.CountNoun(e.Writes, "write"))
	}
	i.note = strings.Join(notes, ", ")
}

func (i *feedItem) setLog(e *observe.Logged) {
	i.controller, i.verb, i.verbStyle = words.OneLine(e.Controller), "debug", faint
	switch {
	case e.IsError():
		i.verb, i.mark, i.verbStyle = "error", markBad, bad
	case e.IsWarning():
		i.verb, i.verbStyle = "warn", caution
	case e.Level >= 0:
		i.verb = "info"
	}
	text, rest := e.Message, ""
	for _, a := range ui.ShownAttrs(e) {
		if a.Key == "err" || a.Key == "error" { // why comes first: the end may be cut
			text += ": " + ui.ShortError(a.Value)
			continue
		}
		rest += " " + a.Key + "=" + a.Value
	}
	i.subject = words.OneLine(text + rest)
}

// formatCallTarget returns for example "ReplicaSet/status default/web".
func formatCallTarget(e *observe.Called) string {
	o := e.Object
	if e.Subresource != "" {
		if o.Kind == "" {
			o.Resource, o.Group = o.GroupResource()+"/"+e.Subresource, ""
		} else {
			o.Kind += "/" + e.Subresource
		}
	}
	return objectName(o)
}

func objectName(o observe.Object) string { return words.OneLine(o.String()) }

// openableObject returns o if it identifies an object that can be fetched.
func openableObject(o observe.Object) *observe.Object {
	if o.Name == "" || o.Resource == "" && o.Kind == "" {
		return nil
	}
	return &o
}

// formatQueues lists the queues to which an event added a key. What a client queues is only known of the controllers
// that it reports.
func formatQueues(e *observe.Delivered) string {
	switch {
	case len(e.Queues) > 0:
	case isClientName(e.Controller):
		return ""
	default:
		return "nothing queued"
	}
	names := slices.Clone(e.Queues)
	slices.Sort(names)
	return "queued in " + words.OneLine(strings.Join(slices.Compact(names), ", "))
}

// isClientName reports whether a name is that of a client, "PROGRAM (USER)", rather than of a controller.
func isClientName(name string) bool {
	return strings.Contains(name, " (") && !observe.IsReported(name)
}

func verbStyle(verb string) style {
	switch verb {
	case "create":
		return good
	case "update", "patch":
		return accent
	case "delete", "deletecollection":
		return deletion
	}
	if observe.IsRead(verb) {
		return faint
	}
	return plain
}
