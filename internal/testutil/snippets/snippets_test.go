package snippets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	fence := "```"
	page := "````markdown\n" + fence + "sh\n" + fence + "\n````\ntext\n" + fence + "\n$ one 'a\n  b'\nout $ put\n$ two \\\n    more\n" + fence + "\n\n<!-- not run: needs a cluster -->\n\n" +
		fence + "yaml\na: b\n" + fence + "\n<!-- not run: lost -->\nmore text\n" + fence + "sh\n$ three \"it's\"\n" + fence + "\n"
	got, err := parse("p.md", page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Page: "p.md", Line: 2, Language: "markdown", Text: fence + "sh\n" + fence + "\n"},
		{Page: "p.md", Line: 7, Commands: []string{"one 'a\n  b'", "two \\\n    more"}, Text: "$ one 'a\n  b'\nout $ put\n$ two \\\n    more\n"},
		{Page: "p.md", Line: 17, Language: "yaml", NotRun: "needs a cluster", Text: "a: b\n"},
		{Page: "p.md", Line: 22, Language: "sh", Commands: []string{`three "it's"`}, Text: "$ three \"it's\"\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, says := range map[string]string{fence + "\n": "the block has no end", fence + "\n$ a 'b\n" + fence + "\n": "the command has no end"} {
		if _, err := parse("p.md", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
