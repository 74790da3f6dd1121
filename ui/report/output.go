package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxOutputHead  = 1000 // first lines on the page
	maxOutputTail  = 4000 // last lines on the page
	maxOutputRunes = 2000 // of a line on the page
	maxOutputLine  = 64 << 10
	maxEnding      = 20 // last lines that say why a command failed
)

// outputLine is a line that the command printed.
type outputLine struct {
	At     time.Time // when its beginning was printed
	Stderr bool
	Text   string
}

// outputLog records what the command prints: all of it in a file, the first and the last
// lines for the page.
type outputLog struct {
	mu      sync.Mutex
	file    *os.File
	err     error // the first write error
	closed  bool
	head    []outputLine
	tail    []outputLine
	dropped int
	streams []*outputStream
}

func newOutputLog(f *folder) (*outputLog, error) {
	file, err := f.createStaged(OutputFile)
	if err != nil {
		return nil, fileerror.WithoutPath(err)
	}
	return &outputLog{file: file}, nil
}

// outputStream is a writer for one of the command's streams.
type outputStream struct {
	log    *outputLog
	to     io.Writer
	stderr bool
	line   []byte // that has not ended
	began  time.Time
}

// RecordOutput returns a writer that passes on what the command prints and records it.
func (r *Report) RecordOutput(to io.Writer, stderr bool) io.Writer {
	s := &outputStream{log: r.output, to: to, stderr: stderr}
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	r.output.streams = append(r.output.streams, s)
	return s
}

// Write passes on data first: the report must not keep it back.
func (s *outputStream) Write(data []byte) (int, error) {
	n, err := s.to.Write(data)
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.closed {
		return n, err
	}
	if _, fileErr := s.log.file.Write(data); s.log.err == nil {
		s.log.err = fileErr
	}
	s.addText(data, time.Now())
	return n, err
}

func (s *outputStream) addText(data []byte, now time.Time) {
	for len(data) > 0 {
		if len(s.line) == 0 {
			s.began = now
		}
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			s.line = append(s.line, data[:min(len(data), max(maxOutputLine-len(s.line), 0))]...)
			return
		}
		s.line = append(s.line, data[:end]...)
		data = data[end+1:]
		s.endLine()
	}
}

func (s *outputStream) endLine() {
	s.log.addLine(outputLine{s.began, s.stderr, cleanOutput(s.line)})
	s.line = s.line[:0]
}

// terminalCommands matches the escape sequences of terminals.
var terminalCommands = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-_])")

// cleanOutput returns a line as a terminal would show it, without colours: of a line that
// was overwritten, the last version.
func cleanOutput(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	line = line[bytes.LastIndexByte(line, '\r')+1:]
	text := words.Lines(terminalCommands.ReplaceAllString(string(line), ""))[0]
	return truncateText(text, maxOutputRunes)
}

func (l *outputLog) addLine(line outputLine) {
	if len(l.head) < maxOutputHead {
		l.head = append(l.head, line)
		return
	}
	l.tail = append(l.tail, line)
	if over := len(l.tail) - maxOutputTail; over >= maxOutputTail { // seldom, as it copies
		l.tail = slices.Delete(l.tail, 0, over)
		l.dropped += over
	}
}

// close ends the recording. What is written later is passed on only.
func (l *outputLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for _, s := range l.streams {
		if len(s.line) > 0 {
			s.endLine()
		}
	}
	if err := errors.Join(l.err, l.file.Close()); err != nil {
		return errors.New(OutputFile + ": " + fileerror.WithoutPath(err).Error())
	}
	return nil
}

// outputLines are the lines for the page; dropped of them are missing after the first
// head.
func (l *outputLog) outputLines() (lines []outputLine, head, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail, dropped := l.tail, l.dropped
	if over := len(tail) - maxOutputTail; over > 0 {
		tail, dropped = tail[over:], dropped+over
	}
	return slices.Concat(l.head, tail), len(l.head), dropped
}

// ending returns the last lines, as stderr has them of a container.
func (l *outputLog) ending() excerpt {
	lines, earlier, dropped := l.outputLines()
	if dropped > 0 {
		lines, earlier = lines[earlier:], earlier+dropped
	} else {
		earlier = 0
	}
	var texts []string
	for _, line := range lines {
		texts = append(texts, line.Text)
	}
	for len(texts) > 0 && strings.TrimSpace(texts[len(texts)-1]) == "" {
		texts = texts[:len(texts)-1]
	}
	if len(texts) == 0 {
		return nil
	}
	return newExcerpt(texts, earlier, maxEnding, maxShortCrash).truncated(maxShortLine)
}

// outputLane is the name of the command's lane on the timeline.
const outputLane = "command output"

// outputMarks returns the lines as marks of the timeline.
func outputMarks(lines []outputLine) []mark {
	var all []mark
	for _, line := range lines {
		if strings.TrimSpace(line.Text) == "" {
			continue
		}
		m := mark{kind: outputKind, controller: outputLane, at: line.At, what: "stdout", note: line.Text}
		if line.Stderr {
			m.what = "stderr"
		}
		all = append(all, m)
	}
	return all
}
