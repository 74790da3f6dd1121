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

// TestFailedCommandSaysWhy: junit.xml, the page, the job summary and the annotation have the end of what it printed.
func TestFailedCommandSaysWhy(t *testing.T) {
	dir, summary := t.TempDir(), filepath.Join(t.TempDir(), "summary.md")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	stdout := r.RecordOutput(io.Discard, false)
	for i := range 2 * maxEnding {
		fmt.Fprintf(stdout, "ok %d\n", i)
	}
	if _, err := io.WriteString(stdout, "--- FAIL: TestX\n    x_test.go:7: got <1>, want 2\n\n"); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
	if _, err := r.Write(Outcome{Command: []string{"go", "test"}, Code: 1, Began: runStart}, &log, func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	for path, wants := range map[string][]string{
		filepath.Join(dir, JUnitFile): {`<failure type="Command" message="failed with exit code 1">failed with exit code 1&#xA;… 22 lines left out: see output.log&#xA;ok 22&#xA;`, `x_test.go:7: got &lt;1&gt;, want 2</failure>`},
		filepath.Join(dir, PageFile):  {`<section id="ending"`, "… 22 lines left out</span>\n<bdi>ok 22</bdi>\n", "<bdi>    x_test.go:7: got &lt;1&gt;, want 2</bdi>\n</pre>", " data-from-end"},
		summary:                       {"<pre>\n… 22 lines left out&#58; see output&#46;log\nok 22\n", "    x&#95;test&#46;go&#58;7&#58; got &#60;1&#62;, want 2\n</pre>\n"},
	} {
		text := testutil.ReadFile(t, path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q:\n%.3000s", path, want, text)
			}
		}
	}
	if want := "::go test%0Aok 37%0Aok 38%0Aok 39%0A--- FAIL: TestX%0Ax_test.go:7: got <1>, want 2\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("annotation %q", &log)
	}
	page := testutil.ReadFile(t, filepath.Join(writePassedReport(t), PageFile))
	if strings.Contains(page, `id="ending"`) || strings.Contains(page, " data-from-end>") {
		t.Error("the page of a run that passed has the end of the output twice")
	}
}

// TestEndOfALongOutput counts the lines that the page does not have.
func TestEndOfALongOutput(t *testing.T) {
	l := &outputLog{}
	if e := l.ending(); e != nil {
		t.Errorf("without output: %v", e)
	}
	s := &outputStream{log: l, to: io.Discard}
	const n = maxOutputHead + 3*maxOutputTail
	for i := range n {
		s.addText(fmt.Appendf(nil, "%d\n", i), runStart)
	}
	if e := l.ending(); len(e) != 1 || e[0].Omitted != n-maxEnding || e[0].Lines[0] != fmt.Sprint(n-maxEnding) {
		t.Errorf("%v", e)
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
	if err := errors.Join(s.writeMarkdown(&page, 0), s.writeAnnotations(&log)); err != nil {
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
