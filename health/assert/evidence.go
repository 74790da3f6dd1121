package assert

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// maxEvidence is how many records are named as evidence.
const maxEvidence = 10

// collectEvidence returns lines about the newest records of some controllers or clients.
func collectEvidence(records []observe.Record, of []string, describe func(observe.Record) (who, line string)) []string {
	var lines []string
	for _, r := range records {
		if who, line := describe(r); line != "" && slices.Contains(of, who) {
			lines = append(lines, fmt.Sprintf("%s  %s %s", r.Time.Format("15:04:05.000"), who, words.OneLine(line)))
		}
	}
	if over := len(lines) - maxEvidence; over > 0 {
		lines = append([]string{fmt.Sprintf("%d more before", over)}, lines[over:]...)
	}
	return lines
}

func conflictLine(r observe.Record) (who, line string) {
	c, ok := r.Event.(*observe.Called)
	if !ok || !c.Conflict {
		return "", ""
	}
	line = fmt.Sprintf("had a conflict when it tried to %s %s", c.Verb, c.Object)
	if c.Subresource != "" {
		line += " " + c.Subresource
	}
	return c.Controller, line
}

func failedSyncLine(r observe.Record) (who, line string) {
	s, ok := r.Event.(*observe.Synced)
	if !ok || !s.Failed() {
		return "", ""
	}
	return cmp.Or(s.Controller, s.Queue), fmt.Sprintf("sync of %s in queue %s failed: %s", cmp.Or(s.Key, "an unknown key"), s.Queue, s.Error)
}

// A loop is hot if its rounds follow each other faster than any controller that polls,
// and often enough that it is not about to come to rest.
const (
	hotRounds   = 10
	hotInterval = 500 * time.Millisecond

	// A rollout in steps changes an object often, and some operators create their objects one by one.
	hotChanges   = 20
	hotCreations = 100
	// What a client creates because of one event may also be as many objects as it wants.
	hotGenerated = 500
)

// hotLoops returns the hot loops among the records that have gone on until a time, most rounds first. Of a loop with
// progress whose last rounds had none, these count.
func hotLoops(records []observe.Record, until time.Time) []trace.Loop {
	type work struct{ controller, queue, key, verb, object string }
	of := func(l trace.Loop) work {
		w := work{l.Controller, l.Queue, l.Key, l.Verb, ""}
		if l.Key == "" {
			w.object = l.Object.String()
		}
		return w
	}
	plain := map[work]bool{}
	loops := slices.DeleteFunc(trace.Loops(records, until), func(l trace.Loop) bool {
		return l.Rounds < leastRounds(l) || l.Interval() > hotInterval
	})
	for _, l := range loops {
		plain[of(l)] = plain[of(l)] || l.Progress == nil
	}
	return slices.DeleteFunc(loops, func(l trace.Loop) bool { return l.Progress != nil && plain[of(l)] })
}

// areSiblings reports whether all rounds create an object because of the same event: a client may want as many. No assertion
// fails for that.
func areSiblings(l trace.Loop) bool { return l.Creates() && l.Verb != "" && len(l.Round) == 2 }

func leastRounds(l trace.Loop) int {
	switch {
	case l.Progress == nil:
		return hotRounds
	case areSiblings(l):
		return hotGenerated
	case l.Creates():
		return hotCreations
	}
	return hotChanges
}

// HotLoop is work that causes itself again and again: syncs of a key, or writes of a client to an object.
type HotLoop struct {
	Controller  string          `json:"controller"` // or the client's name
	Queue       string          `json:"queue,omitempty"`
	Key         string          `json:"key,omitempty"`
	Verb        string          `json:"verb,omitempty"`
	Object      *observe.Object `json:"object,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Creates     string          `json:"creates,omitempty"` // the kind of which each round creates another object
	Changes     *observe.Object `json:"changes,omitempty"` // what each round changes, as if it was to be rolled out
	Rounds      int             `json:"rounds"`
	// AtLeast is set if it began before the first record: there were more rounds.
	AtLeast   bool          `json:"atLeast,omitempty"`
	Interval  time.Duration `json:"intervalNanos"` // from one round to the next, on average
	PerSecond float64       `json:"perSecond"`
	// Wrote is what the last round has changed, to a version. Fields are which fields of that, if they are known: records have no
	// objects.
	Wrote   *observe.Object `json:"wrote,omitempty"`
	Version string          `json:"version,omitempty"`
	Fields  []string        `json:"fields,omitempty"`
	// FieldManagers are those as which it writes the same object, if there are several: they may undo each other's changes.
	FieldManagers []string `json:"fieldManagers,omitempty"`
}

// searchedRecords is how many of the newest records are searched for hot loops.
const searchedRecords = 4000

// FindLoops returns each hot loop among the latest records of a source that has not ended at a time, most rounds first.
func FindLoops(ctx context.Context, source observe.Source, now time.Time) ([]HotLoop, error) {
	page, err := source.Records(ctx, observe.Query{Limit: searchedRecords})
	if err != nil {
		return nil, err
	}
	return currentLoops(page.Records, now), nil
}

// FindLoopsOf returns each hot loop among the latest of some records that writes an object, or creates others for it, and that
// has not ended at a time.
func FindLoopsOf(about observe.Object, records []observe.Record, now time.Time) (loops []HotLoop) {
	records = records[max(0, len(records)-searchedRecords):]
	for _, l := range hotLoops(records, now.Add(-2*hotInterval)) {
		if l.Concerns(about) {
			loops = append(loops, newHotLoop(l, records))
		}
	}
	return loops
}

// currentLoops returns each hot loop among the records that has not ended at a time, most rounds first.
func currentLoops(records []observe.Record, now time.Time) (loops []HotLoop) {
	for _, l := range hotLoops(records, now.Add(-2*hotInterval)) {
		loops = append(loops, newHotLoop(l, records))
	}
	return loops
}

// maxLoops is how many hot loops are described.
const maxLoops = 3

func checkLoops(records []observe.Record) Result {
	result := Result{Rule: NoHotLoop}
	loops := slices.DeleteFunc(hotLoops(records, time.Time{}), areSiblings)
	if len(loops) == 0 {
		return result
	}
	result.Failure = newHotLoop(loops[0], records).String()
	if len(loops) > 1 {
		result.Failure += fmt.Sprintf(" (and %s)", words.Count(len(loops)-1, "more loop"))
	}
	for i, l := range loops[:min(len(loops), maxLoops)] {
		if i > 0 {
			result.Evidence = append(result.Evidence, newHotLoop(l, records).String())
		}
		result.Evidence = append(result.Evidence, "one round, from cause to effect:")
		result.Evidence = append(result.Evidence, l.Lines()...)
		if l.Verb != "" && len(l.Round) == 2 && l.Progress == nil {
			result.Evidence = append(result.Evidence, "nothing else happened to it in between: each write follows from the one before")
		}
	}
	return result
}

// newHotLoop describes a loop. Of one that began before the first of the records, there were more rounds.
func newHotLoop(l trace.Loop, records []observe.Record) HotLoop {
	first := records[0]
	h := HotLoop{
		Controller: l.Controller, Queue: l.Queue, Key: l.Key, Verb: l.Verb, Subresource: l.Round[0].Subresource,
		Rounds: l.Rounds, AtLeast: first.Seq > 1 && l.First.Sub(first.Time) <= 2*hotInterval, Interval: l.Interval(),
	}
	if l.Key == "" {
		h.Object = l.Object
	}
	switch by := l.Progress; {
	case l.Creates():
		h.Creates = by.Object.Kind
	case by != nil:
		h.Changes = by.Object
	}
	if by := l.Change(); by != nil {
		h.Wrote, h.Version = by.Object, by.ResourceVersion
		h.FieldManagers = fieldManagers(l, by, records)
	}
	if h.Interval > 0 {
		h.PerSecond = float64(time.Second) / float64(h.Interval)
	}
	return h
}

// fieldManagers returns the field managers of the writes of a loop that have changed the same object as one of them; nil if
// they have the same one.
func fieldManagers(l trace.Loop, like *trace.Node, records []observe.Record) (managers []string) {
	last := "" // version: a write that changes nothing is answered with it
	for i := range records {
		c, ok := records[i].Event.(*observe.Called)
		if !ok || records[i].Time.Before(l.First) || c.Controller != like.Controller || c.Subresource != like.Subresource || !c.Object.Same(*like.Object) {
			continue
		}
		if !c.IsWrite() || c.Failed() || c.DryRun || c.ResourceVersion == last {
			continue
		}
		last = c.ResourceVersion
		if c.FieldManager != "" && !slices.Contains(managers, c.FieldManager) {
			managers = append(managers, c.FieldManager)
		}
	}
	if len(managers) < 2 {
		return nil
	}
	slices.Sort(managers)
	return managers
}

// maxFields is how many fields are named.
const maxFields = 3

// String says what never rests, in one line.
func (h HotLoop) String() string {
	what := fmt.Sprintf("key %s in queue %s", h.Key, h.Queue)
	if h.Key == "" {
		what = strings.TrimSpace(fmt.Sprintf("%s of %s %s", h.Verb, h.Object, h.Subresource))
	}
	atLeast := ""
	if h.AtLeast {
		atLeast = "at least "
	}
	each := ""
	switch {
	case h.Creates != "":
		each = "; each creates another " + h.Creates
	case len(h.Fields) > 0:
		each = "; each changes " + words.First(h.Fields, maxFields)
		if h.Key != "" {
			each += fmt.Sprintf(" of %s", h.Wrote)
		}
	case h.Changes != nil:
		each = fmt.Sprintf("; each changes %s", h.Changes)
	}
	if len(h.FieldManagers) > 0 {
		each += "; as the field managers " + words.First(h.FieldManagers, maxFields)
	}
	return words.OneLine(fmt.Sprintf("%s: %s repeats itself: %s%d rounds, one every %v%s", h.Controller, what, atLeast, h.Rounds, h.Interval.Round(time.Millisecond), each))
}
