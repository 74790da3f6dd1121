package live

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The levels of log lines, as of observe.Logged.
const (
	levelError = 8
	levelWarn  = 4
	levelInfo  = 0
)

// Marks of lines that went wrong.
const (
	markBad      = "!"
	markConflict = "~"
)

// bootSteps is who takes the steps of a start.
const bootSteps = "start"

// item is what a line of the feed says.
type item struct {
	at        time.Time
	mark      string // "!" for errors, "~" for conflicts
	who       string
	verb      string
	verbStyle style
	what      string
	status    string
	took      time.Duration
	note      string          // what goes on in the line after that
	object    *observe.Object // what enter opens
}

// style is that of the text that says what happened.
func (i item) style() style {
	switch i.mark {
	case markBad:
		return bad
	case markConflict:
		return caution
	}
	return plain
}

// text is all that the line says, for filters.
func (i item) text() string {
	return strings.Join([]string{i.mark, i.who, i.verb, i.what, i.status, i.note}, " ")
}

// describe says what a record says. All of it is harmless to a terminal.
func describe(r observe.Record) item {
	i := item{at: r.Time}
	switch e := r.Event.(type) {
	case *observe.Called:
		i.called(e)
	case *observe.Synced:
		i.synced(e)
	case *observe.Logged:
		i.logged(e)
	case *observe.Delivered:
		i.who, i.verb, i.verbStyle = clean(e.Controller), "event", faint
		i.what, i.took = clean(string(e.Change))+" "+name(e.Object), e.Took
		i.object, i.note = opens(e.Object), queued(e.Queues)
	case *observe.ControllerChanged:
		i.who, i.verb, i.verbStyle, i.what = clean(e.Controller), "state", accent, clean(e.State)
		if e.Reason != "" {
			i.what += ": " + clean(e.Reason)
		}
		if e.State == stateFailed {
			i.mark = markBad
		}
	case *observe.BootStep:
		i.who, i.verb, i.verbStyle, i.what, i.took = bootSteps, "done", good, clean(e.Step), e.Took
		if e.Error != "" {
			i.mark, i.verb, i.note = markBad, "failed", clean(e.Error)
		}
	}
	return i
}

func (i *item) called(e *observe.Called) {
	i.who, i.verb, i.verbStyle = clean(e.Controller), clean(e.Verb), verbStyle(e.Verb)
	i.what, i.took, i.object = called(e), e.Took, opens(e.Object)
	i.status = strconv.Itoa(e.Status)
	if e.Status == 0 {
		i.status = "none"
	}
	i.note = clean(e.Error)
	switch {
	case e.Conflict:
		i.mark = markConflict
	case e.Failed():
		i.mark = markBad
	}
}

func (i *item) synced(e *observe.Synced) {
	i.who, i.verb, i.verbStyle = clean(e.Controller), "sync", accent
	i.what, i.took = key(e.Key, e.KeyBasis), e.Took
	if q := clean(e.Queue); q != i.who {
		i.what = q + ": " + i.what
	}
	i.note = clean(e.Error)
	switch {
	case e.Error != "":
		i.mark, i.status = markBad, "fail"
	case e.Failed():
		i.mark, i.status = markBad, "again"
	case e.Retried:
		i.status = "again"
	default:
		i.status = "ok"
	}
	if e.Reads+e.Writes > 0 && i.note == "" {
		i.note = plural(int64(e.Reads), "read") + ", " + plural(int64(e.Writes), "write")
	}
}

func (i *item) logged(e *observe.Logged) {
	i.who, i.verb, i.verbStyle = clean(e.Controller), "debug", faint
	switch {
	case e.Level >= levelError:
		i.verb, i.mark, i.verbStyle = "error", markBad, bad
	case e.Level >= levelWarn:
		i.verb, i.verbStyle = "warn", caution
	case e.Level >= levelInfo:
		i.verb = "info"
	}
	var b strings.Builder
	b.WriteString(clean(e.Message))
	for _, a := range e.Attrs {
		b.WriteString(" " + clean(a.Key) + "=" + clean(a.Value))
	}
	i.what = b.String()
}

// called is ReplicaSet/status default/web.
func called(e *observe.Called) string {
	o := e.Object
	if e.Subresource != "" {
		if o.Kind == "" {
			o.Resource += "/" + e.Subresource
		} else {
			o.Kind += "/" + e.Subresource
		}
	}
	return name(o)
}

func name(o observe.Object) string { return clean(o.String()) }

// opens is the object, if it can be asked for.
func opens(o observe.Object) *observe.Object {
	if o.Name == "" || o.Resource == "" && o.Kind == "" {
		return nil
	}
	return &o
}

// key marks a key that is inferred, and one that is not known.
func key(k string, b observe.Basis) string {
	switch {
	case k == "":
		return "?"
	case b.Inferred():
		return "~" + clean(k)
	}
	return clean(k)
}

// queued says into which queues an event put a key.
func queued(queues []string) string {
	if len(queues) == 0 {
		return "nothing queued"
	}
	names := slices.Clone(queues)
	slices.Sort(names)
	return "queued in " + clean(strings.Join(slices.Compact(names), ", "))
}

func verbStyle(verb string) style {
	switch verb {
	case "create":
		return good
	case "update", "patch":
		return accent
	case "delete", "deletecollection":
		return gone
	case "get", "list", "watch":
		return faint
	}
	return plain
}
