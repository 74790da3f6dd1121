package assert

import (
	"cmp"
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
)

// hotLoops returns the hot loops among the records that have gone on until a time, most rounds first.
func hotLoops(records []observe.Record, until time.Time) []trace.Loop {
	return slices.DeleteFunc(trace.Loops(records, until), func(l trace.Loop) bool {
		return l.Rounds < hotRounds || l.Interval() > hotInterval
	})
}

// CurrentLoops returns a line for each hot loop among the records that has not ended at a
// time, most rounds first.
func CurrentLoops(records []observe.Record, now time.Time) (lines []string) {
	for _, l := range hotLoops(records, now.Add(-2*hotInterval)) {
		lines = append(lines, describeLoop(l, records))
	}
	return lines
}

// maxLoops is how many hot loops are described.
const maxLoops = 3

func checkLoops(records []observe.Record) Result {
	result := Result{Rule: NoHotLoop}
	loops := hotLoops(records, time.Time{})
	if len(loops) == 0 {
		return result
	}
	result.Failure = describeLoop(loops[0], records)
	if len(loops) > 1 {
		result.Failure += fmt.Sprintf(" (and %s)", words.Count(len(loops)-1, "more loop"))
	}
	for i, l := range loops[:min(len(loops), maxLoops)] {
		if i > 0 {
			result.Evidence = append(result.Evidence, describeLoop(l, records))
		}
		result.Evidence = append(result.Evidence, "one round, from cause to effect:")
		result.Evidence = append(result.Evidence, l.Lines()...)
		if l.Verb != "" && len(l.Round) == 2 {
			result.Evidence = append(result.Evidence, "nothing else happened to it in between: each write follows from the one before")
		}
	}
	return result
}

// describeLoop says what never rests, in one line. Of a loop that began before the first of the
// records, there were more rounds.
func describeLoop(l trace.Loop, records []observe.Record) string {
	what := strings.TrimSpace(fmt.Sprintf("%s of %s %s", l.Verb, l.Object, l.Round[0].Subresource))
	if l.Key != "" {
		what = fmt.Sprintf("key %s in queue %s", l.Key, l.Queue)
	}
	atLeast := ""
	if first := records[0]; first.Seq > 1 && l.First.Sub(first.Time) <= 2*hotInterval {
		atLeast = "at least "
	}
	return words.OneLine(fmt.Sprintf("%s: %s repeats itself: %s%d rounds, one every %v", l.Controller, what, atLeast, l.Rounds, l.Interval().Round(time.Millisecond)))
}
