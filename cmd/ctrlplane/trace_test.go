package main

import (
	"io"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// A diagram that Mermaid does not draw by default is written, with a warning.
func TestWarningOfLongDiagrams(t *testing.T) {
	for name, tc := range map[string]struct {
		format trace.Format
		length int // in characters of two bytes
		warned bool
	}{
		"short diagram": {trace.Mermaid, 50_000, false},
		"long diagram":  {trace.Mermaid, 50_001, true},
		"long page":     {trace.HTML, 50_001, false},
	} {
		text := strings.Repeat("µ", tc.length)
		var out, warnings strings.Builder
		cmd := newTraceCommand(&target{})
		cmd.SetOut(&out)
		cmd.SetErr(&warnings)
		err := writeTrace(cmd, tc.format, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil || out.String() != text {
			t.Errorf("%s: %v, %d bytes are written, want %d", name, err, out.Len(), len(text))
		}
		if got := warnings.String(); (got != "") != tc.warned || tc.warned && (!strings.HasPrefix(got, "ctrlplane: warning: the diagram has 50001 characters") || !strings.HasSuffix(got, ": use -o html, or show less with --since, --depth or --controller\n")) {
			t.Errorf("%s: warned %q", name, got)
		}
	}
}
