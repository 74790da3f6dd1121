package trace

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A number and its unit stay on one line.
func TestUnitsStayWithTheirNumbers(t *testing.T) {
	p := newPainter(Style{Width: 40}, phrases{})
	got := p.wrap("updated ReplicaSet web status in 4.5 ms (queued 12 µs); found 3 s lines", 36)
	want := []string{"updated ReplicaSet web status in", "4.5 ms (queued 12 µs); found 3 s", "lines"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What is longer than a line, such as a name, goes on in the next one.
func TestLongWordsAreNotCut(t *testing.T) {
	p := newPainter(Style{Width: 60}, phrases{})
	name := strings.Repeat("abcdefghij", 6)
	got := p.wrap("created Pod "+name+" in 4.5 ms", 48)
	want := []string{"created Pod", name[:48], name[48:] + " in 4.5 ms"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A quoted command is to be pasted: it is neither broken nor cut.
func TestCommandsAreNotBroken(t *testing.T) {
	p := newPainter(Style{Width: 60}, phrases{})
	command := `"/opt/bin/ctrlplane --data-dir /tmp/ctrlplane-ephemeral-704150481 kubectl logs seven -c wait"`
	p.writeSentence(command + " shows its log.")
	p.writeSentence(`Later, at 12:53:52.528, kubectl patched ConfigMap cm: "bin/ctrlplane why configmap/cm --changed" shows the last change.`)
	want := command + "\nshows its log.\nLater, at 12:53:52.528, kubectl patched ConfigMap cm:\n\"bin/ctrlplane why configmap/cm --changed\" shows the last\nchange.\n"
	if got := p.b.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The lines of a colored text have its color, and what precedes them does not.
func TestColorsGoOnInTheNextLine(t *testing.T) {
	p := newPainter(Style{Width: 60, Color: true}, phrases{})
	p.writeLine(nil, "", "|  ", "synced "+p.warn(strings.Repeat("conflict ", 12))+"at last")
	lines := strings.Split(strings.TrimSpace(p.b.String()), "\n")
	if len(lines) < 3 {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if strings.Count(line, "\x1b[33mconflict") != 1 || strings.Count(line, endColor) != strings.Count(line, "\x1b[")/2 || visibleWidth(line) > 60 {
			t.Errorf("line %d: %q", i, line)
		}
	}
	if !strings.HasSuffix(lines[len(lines)-1], "at last") {
		t.Errorf("%q", lines)
	}
}

// A branch far from the root leaves room for its text.
func TestDeepBranchesAreNotCut(t *testing.T) {
	for _, style := range []Style{{Width: 100}, {Width: 60, ASCII: true}} {
		p := newPainter(style, phrases{})
		lead := strings.Repeat(p.pickGlyph("│  ", "|  "), 40)
		after := time.Second
		p.writeLine(&after, lead+p.pickGlyph("└─ ", "`- "), lead+"   ", "replicaset-controller saw it updated, updated ReplicaSet web-5fc9f4bf66 status (version 243) in 8.8 ms")
		text := strings.TrimSuffix(p.b.String(), "\n")
		var words []string
		for line := range strings.SplitSeq(text, "\n") {
			if visibleWidth(line) > style.Width {
				t.Errorf("%d columns: %s", visibleWidth(line), line)
			}
			words = append(words, strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("│└─|`- ~…", r) })...)
		}
		if got := strings.Join(words, " "); !strings.Contains(got, "updated ReplicaSet web") || !strings.HasSuffix(got, "in 8.8 ms") {
			t.Errorf("%s\n%s", got, text)
		}
	}
}

// A line is cut in front of a character, not inside of the escape sequence that follows it.
func TestTruncate(t *testing.T) {
	for width, want := range map[int]string{1: "…" + endColor, 2: "a\x1b[1m…" + endColor, 3: "a\x1b[1mbc" + endColor} {
		p := newPainter(Style{Color: true, Width: width}, phrases{})
		if got := p.truncate("a\x1b[1mbc" + endColor); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// However long the times are, branches are continued in their column.
func TestBranchesOfLongTracesAreAligned(t *testing.T) {
	for _, took := range []time.Duration{time.Second, 14*time.Minute + 11*time.Second, 30 * time.Hour} {
		sync := func(after time.Duration) *Node {
			return &Node{Kind: Sync, Controller: "operator", Key: "default/s", Time: time.Unix(0, 0).Add(after), Cause: &Cause{}}
		}
		root := &Node{Kind: Outside, Verb: "create", Object: &shop, Time: time.Unix(0, 0), root: true, Children: []*Node{sync(took), sync(took), sync(took)}}
		tree := &Tree{About: shop, Roots: []*Node{root}}
		root.Children[1].Error = strings.Repeat("failed ", 30) // has more than one line
		tree.setOffsets()
		column := -1
		for line := range strings.Lines(writeString(t, tree, Text, Style{Width: 80})) {
			if at := strings.IndexAny(line, "├│└"); at >= 0 {
				if column < 0 {
					column = at
				}
				if at != column {
					t.Errorf("%v: not in column %d: %s", took, column, line)
				}
			}
		}
		if column < 0 {
			t.Errorf("%v: no branches", took)
		}
	}
}
