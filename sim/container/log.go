package container

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// LogLine is a line that a command has written.
type LogLine struct {
	At     time.Time
	Stderr bool
	Text   string // with its line feed, which a part of a line lacks
}

// Log is the output of a run. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	lines   []LogLine
	dropped int // lines that were dropped
	size    int
	held    *atomic.Int64 // what it has reserved; apart from it so that the garbage collector can tell that it is unused
	partial [2][]byte     // of standard output and standard error
	changed chan struct{} // closed at the next change; nil if nothing waits
	closed  bool
}

// writer returns a writer for standard output or standard error.
func (l *Log) writer(stderr bool) io.Writer { return logWriter{l, stderr} }

type logWriter struct {
	log    *Log
	stderr bool
}

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	stream := &l.partial[0]
	if w.stderr {
		stream = &l.partial[1]
	}
	*stream = append(*stream, p...)
	rest := *stream
	for {
		end := bytes.IndexByte(rest[:min(len(rest), kubeletlogs.MaxLineBytes)], '\n') + 1
		if end == 0 && len(rest) < kubeletlogs.MaxLineBytes {
			break
		}
		if end == 0 {
			end = kubeletlogs.MaxLineBytes
		}
		l.add(w.stderr, string(rest[:end]))
		rest = rest[end:]
	}
	switch len(rest) {
	case len(*stream):
	case 0:
		*stream = nil
	default:
		*stream = bytes.Clone(rest) // a long output does not stay in memory because of its end
	}
	l.signal()
	return len(p), nil
}

// add adds a line. Older lines make room for it; if all Pods together hold as much as they
// may, the line is dropped.
func (l *Log) add(stderr bool, text string) {
	n := len(text) + kubeletlogs.LineOverhead
	for l.size+n > kubeletlogs.MaxBytes && len(l.lines) > 0 {
		l.dropFirst()
	}
	for !shell.Reserve(n) {
		if len(l.lines) == 0 {
			l.dropped++
			return
		}
		l.dropFirst()
	}
	if l.held == nil {
		l.held = &atomic.Int64{}
		runtime.AddCleanup(l, func(held *atomic.Int64) { shell.Release(int(held.Load())) }, l.held)
	}
	l.held.Add(int64(n))
	l.lines = append(l.lines, LogLine{time.Now(), stderr, text})
	l.size += n
}

func (l *Log) dropFirst() {
	n := len(l.lines[0].Text) + kubeletlogs.LineOverhead
	l.size -= n
	l.held.Add(-int64(n))
	shell.Release(n)
	l.lines[0] = LogLine{}
	l.lines = l.lines[1:]
	l.dropped++
}

func (l *Log) signal() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// close ends the log.
func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, rest := range l.partial {
		if len(rest) > 0 {
			l.add(i == 1, string(rest))
		}
	}
	l.partial = [2][]byte{}
	l.closed = true
	l.signal()
}

// Read returns the lines from a position on, 0 being the first line ever written, and
// the position after them. changed is closed when there are more; nil means that the
// log has ended.
func (l *Log) Read(from int) (lines []LogLine, next int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines = append(lines, l.lines[max(from-l.dropped, 0):]...)
	next = l.dropped + len(l.lines)
	if l.closed {
		return lines, next, nil
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return lines, next, l.changed
}

// end returns the last lines that fit, and their size. The command may still be ending: what it has written of a line counts.
func (l *Log) end(maxBytes int) (lines []LogLine, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var begun []LogLine
	for i, rest := range l.partial {
		if len(rest) > 0 {
			begun = append(begun, LogLine{time.Now(), i == 1, string(rest)})
			size += len(rest) + kubeletlogs.LineOverhead
		}
	}
	first := len(l.lines)
	for ; first > 0; first-- {
		n := len(l.lines[first-1].Text) + kubeletlogs.LineOverhead
		if size+n > maxBytes {
			break
		}
		size += n
	}
	return slices.Concat(l.lines[first:], begun), size
}

// tail returns the end of the log.
func (l *Log) tail(maxLines, maxBytes int) string {
	lines, _, _ := l.Read(0)
	var b strings.Builder
	for _, line := range lines[max(len(lines)-maxLines, 0):] {
		b.WriteString(line.Text)
	}
	text := b.String()
	return text[max(len(text)-maxBytes, 0):]
}
