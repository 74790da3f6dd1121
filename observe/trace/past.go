package trace

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

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
	about = *canonicalObject(about)
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

// lastWarning quotes the last Kubernetes Event that is a warning about one of the objects, the first of which is asked for.
func (p *painter) lastWarning(records []observe.Record, objects []observe.Object) string {
	places := map[place]bool{}
	for i := range objects {
		places[placeOf(&objects[i])] = true
	}
	for _, r := range slices.Backward(records) {
		c, ok := r.Event.(*observe.Called)
		if !ok || !c.Event.IsWarning() || c.Status >= http.StatusBadRequest || !places[placeOf(canonicalObject(c.Event.Regarding))] {
			continue
		}
		of := ""
		if regarding := c.Event.Regarding; !canonicalObject(regarding).Same(objects[0]) {
			of = " about " + regarding.String()
		}
		note := p.shorten(strings.TrimSuffix(words.OneLine(c.Event.Note), "."))
		return words.OneLine(fmt.Sprintf("Last warning%s, at %s: %s: %s", of, p.formatClock(r.Time), c.Event.Reason, note)) + "."
	}
	return ""
}
