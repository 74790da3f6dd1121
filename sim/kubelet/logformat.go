package kubelet

import (
	"bytes"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

// logFormat selects and formats the lines of a log.
type logFormat struct {
	options *corev1.PodLogOptions
	since   time.Time
	left    int64 // bytes that may still be written; -1 means no limit
	inLine  bool  // the last line was only a part of one
}

func newLogFormat(options *corev1.PodLogOptions, now time.Time) *logFormat {
	f := &logFormat{options: options, left: -1}
	switch {
	case options.SinceSeconds != nil:
		f.since = now.Add(-container.Seconds(*options.SinceSeconds))
	case options.SinceTime != nil:
		f.since = options.SinceTime.Time
	}
	if options.LimitBytes != nil {
		f.left = *options.LimitBytes
	}
	return f
}

// selectLines returns the last lines that are recent enough.
func (f *logFormat) selectLines(lines []logLine) []logLine {
	lines = f.selectStream(lines)
	if tail := f.options.TailLines; tail != nil && *tail < int64(len(lines)) {
		lines = lines[int64(len(lines))-*tail:]
	}
	var chosen []logLine
	for _, l := range lines {
		if !l.at.Before(f.since) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// selectStream returns the lines of the streams that are asked for.
func (f *logFormat) selectStream(lines []logLine) []logLine {
	stream := *f.options.Stream
	if stream == corev1.LogStreamAll {
		return lines
	}
	var chosen []logLine
	for _, l := range lines {
		if l.stderr == (stream == corev1.LogStreamStderr) {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// encodeLines returns the lines as they are sent.
func (f *logFormat) encodeLines(lines []logLine) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		if f.options.Timestamps && !f.inLine {
			b.WriteString(l.at.Format(kubeletlogs.TimeFormat))
			b.WriteByte(' ')
		}
		b.WriteString(l.text)
		f.inLine = !strings.HasSuffix(l.text, "\n")
	}
	if f.left >= 0 {
		b.Truncate(int(min(f.left, int64(b.Len()))))
		f.left -= int64(b.Len())
	}
	return b.Bytes()
}

func (f *logFormat) limitReached() bool { return f.left == 0 }
