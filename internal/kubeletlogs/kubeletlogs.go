// Package kubeletlogs has what simulated kubelets and the readers of their logs agree on: how much is kept, and the format of
// log files.
package kubeletlogs

import (
	"bytes"
	"strings"
	"time"
)

// What is kept of a run.
const (
	MaxBytes        = 512 << 10 // of its log; older lines are dropped
	MaxRemovedBytes = 64 << 10  // of the log of a container that was removed
	MaxLineBytes    = 16 << 10  // a longer line is split, as container runtimes do
	LineOverhead    = 48        // what a line counts besides its text
)

// MayBeCut reports whether a log is so long that a kubelet that keeps limit bytes of it may have dropped lines.
func MayBeCut(bytes, lines, limit int) bool {
	return bytes+lines*LineOverhead > limit-MaxLineBytes-LineOverhead
}

// TimeFormat is the format of timestamps.
const TimeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// AppendFileLine appends a line of a log as container runtimes write it to a file, with the time, the stream, and F, or P for a
// part of a line: one without a line break.
func AppendFileLine(b *bytes.Buffer, at time.Time, stderr bool, text string) {
	stream, part := "stdout", "F"
	if stderr {
		stream = "stderr"
	}
	text, full := strings.CutSuffix(text, "\n")
	if !full {
		part = "P"
	}
	b.WriteString(at.Format(TimeFormat) + " " + stream + " " + part + " " + text + "\n")
}

// FileText returns what was written to a log file.
func FileText(file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			continue // the rest of a line that was cut
		}
		text := fields[3]
		if fields[2] == "P" {
			text = strings.TrimSuffix(text, "\n")
		}
		b.WriteString(text)
	}
	return b.String()
}
