package container

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
)

func texts(lines []LogLine) (list []string) {
	for _, l := range lines {
		list = append(list, fmt.Sprintf("%v %q", l.Stderr, l.Text))
	}
	return list
}

func TestLog(t *testing.T) {
	var l Log
	out, errs := l.writer(false), l.writer(true)
	fmt.Fprint(out, "one\ntw")
	fmt.Fprint(errs, "error\n")
	lines, next, changed := l.Read(0)
	if got := strings.Join(texts(lines), " "); got != `false "one\n" true "error\n"` {
		t.Errorf("got %s", got)
	}
	fmt.Fprint(out, "o\nend")
	<-changed
	lines, next, changed = l.Read(next)
	if got := strings.Join(texts(lines), " "); got != `false "two\n"` {
		t.Errorf("after a change: got %s", got)
	}
	l.close()
	<-changed
	lines, _, changed = l.Read(next)
	if got := strings.Join(texts(lines), " "); got != `false "end"` || changed != nil {
		t.Errorf("at the end: got %s, changed %v", got, changed)
	}
	if got := l.tail(2, 5); got != "o\nend" {
		t.Errorf("tail: got %q", got)
	}
}

func TestLogIsBounded(t *testing.T) {
	var l Log
	out := l.writer(false)
	line := strings.Repeat("x", 99) + "\n"
	for range 2 * kubeletlogs.MaxBytes / len(line) {
		io.WriteString(out, line)
	}
	fmt.Fprint(out, strings.Repeat("y", 3*kubeletlogs.MaxLineBytes))
	lines, next, _ := l.Read(0)
	size := 0
	for _, l := range lines {
		size += len(l.Text) + kubeletlogs.LineOverhead
	}
	if size > kubeletlogs.MaxBytes || len(lines[len(lines)-1].Text) != kubeletlogs.MaxLineBytes || len(l.partial[0]) > 0 {
		t.Errorf("%d bytes in %d lines, %d in a part", size, len(lines), len(l.partial[0]))
	}
	fmt.Fprint(out, "z\n")
	if again, _, _ := l.Read(next); len(again) != 1 {
		t.Errorf("%d lines after the last", len(again))
	}
}

// TestLogKeepsNoLongOutput checks that the end of a long output does not keep all of it in
// memory.
func TestLogKeepsNoLongOutput(t *testing.T) {
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC() // what finalizers freed
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	var l Log
	out := l.writer(false)
	before := heap()
	out.Write(make([]byte, 32<<20+1))
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("%d MiB are kept of the output", grown>>20)
	}
	fmt.Fprint(out, "x\n")
	if lines, _, _ := l.Read(0); lines[len(lines)-1].Text != "\x00x\n" {
		t.Errorf("the last line is %q", lines[len(lines)-1].Text)
	}
}
