package command_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// Marks of a line: a link that occurs in every run of a lesson, or in some runs.
const (
	alwaysMark    = "= "
	sometimesMark = "? "
)

// compareTrace compares which writes a trace links to which with earlier runs.
// Updating again only adds what may occur: remove the file to start over.
func compareTrace(t *testing.T, name, file string) {
	t.Helper()
	got := traceLinks(t, file)
	path := filepath.Join("..", "..", "ui", "learn", "testdata", name+".golden")
	want := map[string]string{}
	data, err := os.ReadFile(path)
	if err != nil && !testutil.Update() {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			want[line[2:]] = line[:2]
		}
	}
	if testutil.Update() {
		updateLinks(t, path, want, got)
		return
	}
	writes := map[string]bool{}
	for link := range want {
		for write := range strings.SplitSeq(link, " > ") {
			writes[write] = true
		}
	}
	answered := map[string]bool{} // writes that follow from one that the lesson makes
	for link := range got {
		if cause, effect, caused := strings.Cut(link, " > "); caused && writes[cause] {
			answered[effect] = true
		}
	}
	for link, mark := range want {
		_, effect, _ := strings.Cut(link, " > ")
		switch {
		case mark != alwaysMark, got[link], isRacy(link):
		case answered[effect]: // on a busy machine a later sync makes it, as for the controller's own status
			t.Logf("missing, but depends on timing: %s", link)
		default:
			t.Errorf("missing: %s", link)
		}
	}
	for link := range got {
		cause, effect, caused := strings.Cut(link, " > ")
		switch {
		case want[link] != "":
		case isRacy(link), caused && writes[cause] && writes[effect]: // on a busy machine one sync answers several changes
			t.Logf("new, but depends on timing: %s", link)
		default:
			t.Errorf("new: %s", link)
		}
	}
}

// isRacy reports whether a link depends on timing: status updates (as many as there
// are intermediate states), conflicts, objects that another controller deleted
// first, the garbage collector (its workers see owners and dependents in any order),
// and writes that were canceled.
func isRacy(link string) bool {
	return strings.Contains(link, "garbage-collector-controller") || strings.Contains(link, "/status") || strings.Contains(link, "(409)") || strings.Contains(link, "(404)") || strings.Contains(link, "(0)")
}

func updateLinks(t *testing.T, path string, want map[string]string, got map[string]bool) {
	t.Helper()
	first := len(want) == 0
	for link := range got {
		switch {
		case first:
			want[link] = alwaysMark
		case want[link] == "":
			want[link] = sometimesMark
		}
	}
	for link := range want {
		if !got[link] || isRacy(link) {
			want[link] = sometimesMark
		}
	}
	var b strings.Builder
	for _, link := range slices.Sorted(maps.Keys(want)) {
		b.WriteString(want[link] + link + "\n")
	}
	testutil.WriteFile(t, path, b.String())
}

// traceLinks returns the writes of a trace, each with the write that caused it,
// without times, names and versions.
func traceLinks(t *testing.T, file string) map[string]bool {
	t.Helper()
	data := testutil.ReadFile(t, file)
	var tree trace.Tree
	testutil.DecodeJSON(t, data, &tree)
	all := map[string]bool{}
	var walk func(nodes []*trace.Node, above string)
	walk = func(nodes []*trace.Node, above string) {
		for _, n := range nodes {
			from := above
			if n.Kind == trace.Call || n.Kind == trace.Outside {
				from = describeNode(n)
				all[strings.TrimPrefix(above+" > "+from, " > ")] = true
			}
			walk(n.Children, from)
		}
	}
	walk(tree.Roots, "")
	return all
}

// describeNode returns the controller, the verb and the kind of a write.
func describeNode(n *trace.Node) string {
	who := n.Controller
	if n.Kind == trace.Outside {
		who = "outside"
	}
	what := n.Object.Kind
	if what == "" {
		what = n.Object.Resource
	}
	if n.Subresource != "" {
		what += "/" + n.Subresource
	}
	text := fmt.Sprintf("%s %s %s", who, n.Verb, what)
	if n.Kind == trace.Call && (n.Status == 0 || n.Status >= 400) {
		text += fmt.Sprintf(" (%d)", n.Status)
	}
	return text
}
