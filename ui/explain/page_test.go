package explain

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestPagesAreComplete(t *testing.T) {
	pages, err := readPages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		t.Run(p.Name, func(t *testing.T) {
			if p.groupRank() < 0 {
				t.Errorf("group %q is not known", p.Group)
			}
			for what, n := range map[string]int{"decides": len(p.Decides), "fails": len(p.Fails), "as": len(p.As), "source": len(p.Source)} {
				if n == 0 {
					t.Errorf("nothing in %s", what)
				}
			}
			if p.Queues == nil {
				t.Error("queues is missing: set it to {} if there are none")
			}
			for name, key := range p.Queues {
				checkText(t, "key of "+name, key)
			}
			for _, s := range slices.Concat(p.Decides, p.Here) {
				checkProse(t, s)
			}
			for _, f := range p.Fails {
				checkText(t, "sign", f.Sign)
				checkProse(t, f.Means)
			}
		})
	}
}

// checkText checks that text can be shown on any terminal.
func checkText(t *testing.T, what, text string) {
	t.Helper()
	if text == "" || strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
		t.Errorf("%s is empty or has superfluous spaces: %q", what, text)
	}
	for _, r := range asciiText.Replace(text) {
		if r > unicode.MaxASCII || unicode.IsControl(r) {
			t.Errorf("%s contains %q, which has no ASCII replacement: %s", what, r, text)
		}
	}
}

// checkProse checks that text consists of complete sentences.
func checkProse(t *testing.T, text string) {
	t.Helper()
	checkText(t, "text", text)
	first, _, _ := strings.Cut(text, " ")
	lower := !strings.ContainsFunc(first, func(r rune) bool { return !unicode.IsLower(r) }) // a word in lower case only is not a name
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") || lower {
		t.Errorf("not a sentence: %s", text)
	}
	if n := utf8.RuneCountInString(text); n > 500 {
		t.Errorf("%d characters in one item, want at most 500: %s", n, text)
	}
}

func TestPurposesAreTwoShortSentences(t *testing.T) {
	seen := map[string]string{}
	for _, p := range Pages() {
		text := Purpose(p.Name)
		checkProse(t, text)
		if n := strings.Count(text+" ", ". "); n != 2 {
			t.Errorf("%s has %d sentences, want 2: %s", p.Name, n, text)
		}
		if n := utf8.RuneCountInString(text); n > 220 {
			t.Errorf("%s has %d characters, want at most 220: %s", p.Name, n, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same purpose", p.Name, other)
		}
		seen[text] = p.Name
	}
	if got := Purpose("no-such-controller"); got != "" {
		t.Errorf("purpose of an unknown name: %q", got)
	}
}

// The controllers that are taught first have a drawing. Every drawing fits a terminal
// of 80 columns, with and without ASCII only.
func TestDrawingsFitInASCII(t *testing.T) {
	for _, name := range []string{
		"replicationcontroller-controller", "replicaset-controller", "deployment-controller", "job-controller",
		"namespace-controller", "garbage-collector-controller", "node-lifecycle-controller",
	} {
		if p, _ := FindPage(name); strings.Count(p.Drawing, "\n") < 6 {
			t.Errorf("%s has no drawing", name)
		}
	}
	for _, p := range Pages() {
		plain := strings.Split(asciiDrawing.Replace(p.Drawing), "\n")
		for i, l := range strings.Split(p.Drawing, "\n") {
			if w := ansi.StringWidth(l); w > 78 || w != len(plain[i]) {
				t.Errorf("%s: %d columns, in ASCII %d, want the same number and at most 78: %s", p.Name, w, len(plain[i]), l)
			}
			if strings.ContainsFunc(plain[i], func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }) {
				t.Errorf("%s has no ASCII for %s", p.Name, plain[i])
			}
		}
	}
}

// Below a corner or a branch a line continues.
func TestDrawingLinesConnect(t *testing.T) {
	for _, p := range Pages() {
		var rows [][]rune
		for l := range strings.Lines(p.Drawing) {
			rows = append(rows, []rune(strings.TrimRight(l, "\n")))
		}
		for y, row := range rows {
			for x, r := range row {
				if !strings.ContainsRune("┌┐┬", r) {
					continue
				}
				if y+1 == len(rows) || x >= len(rows[y+1]) || rows[y+1][x] == ' ' {
					t.Errorf("%s: line %d, column %d: nothing below %c:\n%s", p.Name, y+1, x+1, r, p.Drawing)
				}
			}
		}
	}
}

func TestResolveNamesAndAliases(t *testing.T) {
	names := NewNames(map[string][]string{
		"replicaset-controller":        {"replicaset"},
		"garbage-collector-controller": {"garbagecollector", "gc"},
		"job-controller":               {"cronjob"}, // the short name of another page
		"no-such-controller":           {"nothing"},
	})
	for _, tc := range []struct{ word, name, nearest string }{
		{"replicaset-controller", "replicaset-controller", ""},
		{"replicaset", "replicaset-controller", ""},
		{"gc", "garbage-collector-controller", ""},
		{"node-ipam", "node-ipam-controller", ""},
		{"kubelet", "simulated-kubelet", ""},
		{"kube-scheduler", "kube-scheduler", ""},
		{"replicast", "", "replicaset"},
		{"nothing", "", ""},
		{"", "", ""},
	} {
		name, nearest, ok := names.Resolve(tc.word)
		if name != tc.name || nearest != tc.nearest || ok != (tc.name != "") {
			t.Errorf("%q: got %q, %q, %v; want %q, %q", tc.word, name, nearest, ok, tc.name, tc.nearest)
		}
	}
}
