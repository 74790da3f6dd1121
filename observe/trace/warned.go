package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// warnedWrite is the last write of an object, or of a subresource of it, by a client.
type warnedWrite struct {
	call *observe.Called
	at   time.Time
}

// advice matches warnings that say how the author of a program should change it: to name a finalizer otherwise, or to use another
// version of an API. They come with each write, whatever state the object is in: trace has them.
var advice = regexp.MustCompile(`prefer a domain-qualified finalizer name|^\S+ \S+ is deprecated\b`)

// DescribeWarnings says what the API server warned the clients of which have written an object, in the answer to their last write
// of it, or of a subresource, one sentence each. It leaves out advice, and kubectl and ctrlplane, which print warnings for their users.
func DescribeWarnings(records []observe.Record, about observe.Object, s Style) (list []string) {
	var last []warnedWrite
	for i := range records {
		c, ok := records[i].Event.(*observe.Called)
		if ok && hasWritten(c, about) && observe.Creates(c.Verb, c.Subresource, c.Status) {
			last = nil
		}
		if !ok || c.Client == nil || c.Verb == "delete" || c.DryRun || !hasWritten(c, about) {
			continue
		}
		at := slices.IndexFunc(last, func(w warnedWrite) bool {
			return w.call.Controller == c.Controller && w.call.Subresource == c.Subresource
		})
		if at >= 0 {
			last[at] = warnedWrite{c, records[i].Time}
		} else {
			last = append(last, warnedWrite{c, records[i].Time})
		}
	}
	for _, w := range last {
		program := observe.ProgramOf(w.call.Controller)
		warnings := withoutAdvice(w.call.Warnings)
		if len(warnings) == 0 || program == "kubectl" || program == "ctrlplane" {
			continue
		}
		did := "last " + pastTense(w.call.Verb) + " it"
		switch {
		case w.call.Verb == "create":
			did = "created it"
		case w.call.Subresource != "":
			did = "last " + pastTense(w.call.Verb) + " its " + words.OneLine(w.call.Subresource)
		}
		said := fmt.Sprintf("The API server warned %s when that %s, at %s: %s",
			words.OneLine(w.call.Controller), did, s.FormatClock(w.at), words.OneLine(strings.Join(warnings, "; ")))
		if !strings.HasSuffix(said, "…") { // otherwise its end is missing
			said += "."
		}
		list = append(list, said)
	}
	return list
}

// withoutAdvice returns the warnings of an answer that are not advice. If all others are, it leaves out how many more there are.
func withoutAdvice(warnings []string) []string {
	rest := slices.DeleteFunc(slices.Clone(warnings), advice.MatchString)
	if len(rest) == 1 && len(warnings) > 1 && moreWarnings.MatchString(rest[0]) {
		return nil
	}
	return rest
}

// moreWarnings matches what the record has in place of further warnings.
var moreWarnings = regexp.MustCompile(`^\d+ more warnings?$`)
