package learn

import (
	"regexp"
	"strings"
	"testing"
)

// readerClaim matches what a text would say about something that the reader has done: with
// skip it was the lesson.
var readerClaim = regexp.MustCompile(`(?i)\byou(?: have| had| just| did not have to| tried to)* (?:deleted?|created?|made|make updates|scaled|ran|changed|applied|patched|stopped|started|paused|resumed|annotated|removed|asked|wrote|did|saved|tried|raised|copied|fixed|clean)\b|\byour (?:change|deletion|patch|write|old copy|(?:two|four|five) \w+)\b`)

// TestLessonsClaimNothingAboutTheReader checks each text of each lesson: every step can be
// skipped.
func TestLessonsClaimNothingAboutTheReader(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, l := range all {
		for _, s := range l.Steps {
			for _, p := range s.Parts {
				for _, text := range textsOf(p) {
					checked++
					if claim := readerClaim.FindString(strings.Join(strings.Fields(text), " ")); claim != "" {
						t.Errorf("%s, step %q: %q is not so after skip: say what the checks have found", l.Name, s.Title, claim)
					}
				}
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d texts", checked)
	}
}

// harmless matches commands that change nothing, so that no text depends on whether they were
// run. A namespace that refuses the Pod "naked" does so each time.
var harmless = regexp.MustCompile(`^(! )?(kubectl (get|describe|logs|events|top|explain|exec four -- ls|run naked)|ctrlplane (status|top))\b`)

// TestTasksAreChecked checks that each task that changes something has checks: what follows
// is shown only once they hold.
func TestTasksAreChecked(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		for _, s := range l.Steps {
			for _, p := range s.Parts {
				d, ok := p.(*Do)
				if !ok || len(d.Until) > 0 {
					continue
				}
				for _, line := range d.Run {
					if !harmless.MatchString(line) {
						t.Errorf("%s, line %d: %q has no check: add until, or, if the command changes nothing, add it to harmless in claims_test.go", l.Name, d.Line, line)
					}
				}
			}
		}
	}
}
