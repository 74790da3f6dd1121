package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestCleanOutput(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "": "", "a\tb": "a    b", "\x1b[1;31mred\x1b[0m": "red", "10%\r20%\r": "20%", "bell\x07": "bell",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07": "link", "\xff": "?", "\u202eback": "back", "</script>": "</script>",
		strings.Repeat("x", 3000): strings.Repeat("x", maxOutputRunes-1) + "…",
	} {
		if got := cleanOutput([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestOutputIsPassedOnAndRecorded(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	stdout, stderr := r.RecordOutput(&out, false), r.RecordOutput(&errOut, true)
	for _, part := range []string{"one\ntw", "o\n", "\x1b[31mthree"} {
		if _, err := io.WriteString(stdout, part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(stderr, "oh\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write(Outcome{Command: []string{"x"}, Began: time.Now()}, io.Discard, emptyEnv); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdout, "late\n"); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "one\ntwo\n\x1b[31mthreelate\n"; got != want || errOut.String() != "oh\n" {
		t.Errorf("passed on %q and %q", got, errOut.String())
	}
	file, err := os.ReadFile(filepath.Join(dir, OutputFile))
	if want := "one\ntwo\n\x1b[31mthreeoh\n"; err != nil || string(file) != want {
		t.Errorf("recorded %q, %v, want %q", file, err, want)
	}
	lines, head, dropped := r.output.outputLines()
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%v %s", l.Stderr, l.Text))
	}
	if diff := cmp.Diff([]string{"false one", "false two", "true oh", "false three"}, got); diff != "" || head != 4 || dropped != 0 {
		t.Errorf("head %d, dropped %d (-want +got):\n%s", head, dropped, diff)
	}
}

func TestOutputIsBounded(t *testing.T) {
	l := &outputLog{}
	s := &outputStream{log: l, to: io.Discard}
	const n = maxOutputHead + 3*maxOutputTail
	for i := range n {
		s.addText(fmt.Appendf(nil, "%d\n", i), runStart)
	}
	lines, head, dropped := l.outputLines()
	if head != maxOutputHead || len(lines) != maxOutputHead+maxOutputTail || dropped != n-len(lines) {
		t.Errorf("%d lines, %d first ones, %d dropped", len(lines), head, dropped)
	}
	if first, last := lines[head].Text, lines[len(lines)-1].Text; first != fmt.Sprint(n-maxOutputTail) || last != fmt.Sprint(n-1) {
		t.Errorf("the last ones are %s to %s", first, last)
	}
	s.addText(bytes.Repeat([]byte("x"), 3*maxOutputLine), runStart)
	if len(s.line) > maxOutputLine {
		t.Errorf("%d bytes of a line are kept", len(s.line))
	}
}

func TestAssertionsAreReported(t *testing.T) {
	o := Outcome{
		Command: []string{"true"}, Code: AssertionCode, Err: errors.New("--max-conflicts 0 does not hold"), Began: runStart, Took: time.Second,
		Assertions: []assert.Result{{Rule: "--no-hot-loop"}, {Rule: "--max-conflicts 0", Failure: "2 conflicts", Evidence: []string{"12:00 <x>", "12:01 y"}}},
	}
	dir := writeReport(t, newFakeJournal(), &State{}, o)
	for name, wants := range map[string][]string{
		JUnitFile: {`tests="3" failures="1"`, `<testsuite name="assertions" tests="2" failures="1"`, `<failure type="Assertion" message="2 conflicts">2 conflicts&#xA;12:00 &lt;x&gt;&#xA;12:01 y</failure>`},
		PageFile:  {"failed an assertion", "<bdi>12:00 &lt;x&gt;</bdi>", "--no-hot-loop", "2 conflicts"},
	} {
		data := testutil.ReadFile(t, filepath.Join(dir, name))
		for _, want := range wants {
			if !strings.Contains(data, want) {
				t.Errorf("%s does not contain %q:\n%.3000s", name, want, data)
			}
		}
	}
	s := &runSummary{Outcome: &o}
	var page, log bytes.Buffer
	if err := errors.Join(s.writeMarkdown(&page), s.writeAnnotations(&log)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "| &#45;&#45;max&#45;conflicts 0 | 2 conflicts |") || !strings.Contains(log.String(), "::error title=does not hold%3A --max-conflicts 0::2 conflicts") {
		t.Errorf("summary:\n%s\nannotations:\n%s", &page, &log)
	}
}

// The output is published also if the events are not, as where the disk was full for a while.
func TestOutputWithoutEvents(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(r.RecordOutput(io.Discard, false), "one\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.folder.staging, EventsFile), 0o700); err != nil { // in the way of the file
		t.Fatal(err)
	}
	if _, err := r.Write(Outcome{Began: runStart}, io.Discard, emptyEnv); err == nil || !strings.Contains(err.Error(), EventsFile) || strings.Contains(err.Error(), OutputFile) {
		t.Errorf("error %v", err)
	}
	if file, err := os.ReadFile(filepath.Join(dir, OutputFile)); err != nil || string(file) != "one\n" {
		t.Errorf("recorded %q, %v", file, err)
	}
}
