package trace

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Past is what a recording says of the state of an object at a moment: it has no objects.
type Past struct {
	// Objects are the object and those that its controllers have created for it, as far as the records tell; none if
	// it was removed.
	Objects []observe.Object
	// Problems says which of these Pods wait for a restart, and which warning a Kubernetes Event had about these objects
	// last, one sentence each.
	Problems []string
}

// ReadPast returns what a recording says of the state of an object at the moment of a snapshot.
func ReadPast(now observe.Snapshot, records []observe.Record, about observe.Object, s Style) (past Past) {
	all := createdFor(records, about)
	removed := removedObjects(records)
	past.Objects = slices.DeleteFunc(all, func(o observe.Object) bool { return removed[placeOf(&o)] })
	if len(past.Objects) == 0 || !past.Objects[0].Same(about) {
		return Past{}
	}
	p := newPainter(s, phrases{})
	for _, sentence := range []string{p.waitingForRestart(now, past.Objects), p.lastWarning(records, past.Objects)} {
		if sentence != "" {
			past.Problems = append(past.Problems, sentence)
		}
	}
	return past
}

// removedObjects returns the places of the objects whose last stored write has removed them.
func removedObjects(records []observe.Record) map[place]bool {
	removed := map[place]bool{}
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok {
			for _, w := range c.Wrote {
				removed[placeOfWritten(w)] = w.Deleted
			}
		}
	}
	return removed
}

// DeletionBegan returns when the deletion of an object began that was removed, and does not exist again: with the first delete
// of the object, or of its namespace, since it was last created.
func DeletionBegan(records []observe.Record, about observe.Object) (began time.Time, ok bool) {
	namespace := place{resource: "namespaces", name: about.Namespace}
	of := placeOf(&about)
	if !removedObjects(records)[of] {
		return time.Time{}, false
	}
	for i := range records {
		c, isCall := records[i].Event.(*observe.Called)
		if !isCall || c.Failed() {
			continue
		}
		called := placeOf(&c.Object)
		switch {
		case called == of && (observe.Creates(c.Verb, c.Subresource, c.Status) || c.Verb == observe.VerbRestore):
			began = time.Time{}
		case !began.IsZero():
		case c.Verb == "delete" && (called == of || about.Namespace != "" && called == namespace), removes(c, of):
			began = cmp.Or(c.Began, records[i].Time)
		}
	}
	return began, !began.IsZero()
}

// removes reports whether a call has removed an object, alone or with others.
func removes(c *observe.Called, of place) bool {
	return slices.ContainsFunc(c.Wrote, func(w observe.Written) bool { return w.Deleted && placeOfWritten(w) == of })
}

// waitingForRestart names the Pod that restarts first, and counts the others.
func (p *painter) waitingForRestart(now observe.Snapshot, objects []observe.Object) string {
	names := map[string]bool{}
	for _, o := range objects {
		names[o.String()] = true
	}
	var first observe.Timer
	n := 0
	for _, t := range now.Timers {
		if t.Reason == "" || !names[t.What] {
			continue
		}
		if n++; n == 1 || t.Due.Before(first.Due) {
			first = t
		}
	}
	if n == 0 {
		return ""
	}
	text := words.OneLine(fmt.Sprintf("%s waits for a restart: %s, next attempt in %s", first.What, first.Reason, p.formatDuration(max(first.Due.Sub(now.Time), 0))))
	if n > 1 {
		text += fmt.Sprintf(" (and %s)", words.Count(n-1, "other Pod"))
	}
	return text + "."
}

// lastWarning quotes the last Kubernetes Event that is a warning about one of the objects, the first of which is asked for,
// with the time of its last occurrence.
func (p *painter) lastWarning(records []observe.Record, objects []observe.Object) string {
	places := map[place]bool{}
	for i := range objects {
		places[placeOf(&objects[i])] = true
	}
	uids := createdUIDs(records)
	warnings := map[place]*observe.KubernetesEvent{} // by the place of the Event
	var last *observe.KubernetesEvent
	var at time.Time
	for i := range records {
		c, ok := records[i].Event.(*observe.Called)
		if !ok || !c.Object.IsEvent() || c.Status >= http.StatusBadRequest {
			continue
		}
		of := placeOf(&c.Object)
		switch c.Verb {
		case "create":
			if c.Event.IsWarning() && places[placeOf(&c.Event.Regarding)] && !isEarlierObject(c.Event.Regarding, uids) {
				warnings[of] = c.Event
			}
		case "patch", "update": // it has occurred again
		default:
			continue
		}
		if w := warnings[of]; w != nil {
			last, at = w, records[i].Time
		}
	}
	if last == nil {
		return ""
	}
	of := ""
	if !last.Regarding.Same(objects[0]) {
		of = " about " + last.Regarding.String()
	}
	note := p.shorten(strings.TrimRight(words.OneLine(last.Note), ":.")) // a probe may have no output
	return words.OneLine(fmt.Sprintf("Last warning%s, at %s: %s: %s", of, p.formatClock(at), last.Reason, note)) + "."
}

// createdUIDs returns the UIDs of objects after they were last created or restored; empty if it is not known.
func createdUIDs(records []observe.Record) map[place]string {
	uids := map[place]string{}
	for i := range records {
		if c, ok := records[i].Event.(*observe.Called); ok && !c.Failed() && (observe.Creates(c.Verb, c.Subresource, c.Status) || c.Verb == observe.VerbRestore) {
			uids[placeOf(&c.Object)] = c.Object.UID
		}
	}
	return uids
}

// isEarlierObject reports whether another object of the same name was created after an object.
func isEarlierObject(o observe.Object, uids map[place]string) bool {
	created := uids[placeOf(&o)]
	return created != "" && o.UID != "" && created != o.UID
}
