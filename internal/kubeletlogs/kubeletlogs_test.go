package kubeletlogs

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestFileTextIsWhatWasWritten(t *testing.T) {
	var b bytes.Buffer
	lines := []string{"first line\n", "a part, ", "and the rest\n", "\n", "  F P stderr\n", "no line break"}
	for i, line := range lines {
		AppendFileLine(&b, time.Unix(int64(i), 0), i%2 == 1, line)
	}
	if got, want := FileText(b.String()), strings.Join(lines, ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := strings.Count(b.String(), "\n"); n != len(lines) {
		t.Errorf("%d lines, want %d", n, len(lines))
	}
	if got := FileText("t of a line that was cut"); strings.Contains(got, "t of") {
		t.Errorf("%q", got)
	}
}
