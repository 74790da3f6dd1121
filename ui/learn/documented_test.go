package learn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// docs/lessons.md names all values that a check accepts.
func TestDocumentedValues(t *testing.T) {
	page := testutil.ReadFile(t, "../../docs/lessons.md")
	for begin, values := range map[string][]string{
		"| `controller: NAME` |": observe.ControllerStates(),
		"| `queue: NAME` |":      queueNumbers,
		"`records` selects by":   slices.Concat([]string{"called", "synced", "logged"}, recordVerbs["delivered"], []string{observe.VerbRestore}),
	} {
		_, text, _ := strings.Cut(page, "\n"+begin)
		text, _, _ = strings.Cut(text, map[bool]string{true: "\n", false: "\n\n"}[begin[0] == '|'])
		for _, v := range values {
			if !strings.Contains(text, "`"+v+"`") {
				t.Errorf("docs/lessons.md, %s …: no `%s`", begin, v)
			}
		}
	}
}

// docs/learn.md lists the built-in lessons, and says how long they take together.
func TestDocumentedLessons(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	minutes := 0
	for i, l := range all {
		want = append(want, fmt.Sprintf("| %d | %s | %d |", i+1, l.Title, l.Minutes))
		minutes += l.Minutes
	}
	want = append(want, fmt.Sprintf("| | all | %d |", minutes))
	_, rest, _ := strings.Cut(testutil.ReadFile(t, "../../docs/learn.md"), "| --- | --- | --- |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	if diff := cmp.Diff(strings.Split(table, "\n"), want); diff != "" {
		t.Errorf("the table of docs/learn.md differs from the lessons: edit it (-documented +lessons):\n%s", diff)
	}
}

// A record's verb is any that the records have.
func TestVerbsOfRecords(t *testing.T) {
	for kind, verbs := range map[string][]string{
		"called":    {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", observe.VerbRestore},
		"delivered": {string(observe.Added), string(observe.Updated), string(observe.Deleted), string(observe.Listed), string(observe.Resynced)},
	} {
		for _, v := range verbs {
			if err := (&Records{Kind: kind, Verb: v}).validate(1); err != nil {
				t.Error(err)
			}
		}
	}
}
