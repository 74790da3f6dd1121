package shell

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// terminal is the line discipline between a client in raw mode and the
// programs: echo, line editing, ^C and ^D.
type terminal struct {
	m     *machine
	in    io.Reader
	out   outerWriter
	start sync.Once
	lines *pipe // what programs read

	mu        sync.Mutex
	interrupt func()
	line      []byte // being edited
	history   [][]byte
	at        int    // in history
	escape    []byte // an escape sequence that is being received
}

// maxLine is how long a line may be, as with the terminals of Linux.
const maxLine = 4095

func newTerminal(m *machine, in io.Reader, out outerWriter) *terminal {
	return &terminal{m: m, in: in, out: out, lines: newPipe(nil)}
}

// onInterrupt replaces what ^C does until restore is called.
func (t *terminal) onInterrupt(f func()) (restore func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.interrupt
	t.interrupt = f
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.interrupt = old
	}
}

func (t *terminal) newline() { t.echo("\r\n") }

func (t *terminal) stop() { pipeReader{t.lines}.close() }

func (t *terminal) close() {}

func (t *terminal) wakeReaders() { t.lines.wakeReaders() }

func (t *terminal) read(p *proc, b []byte) (int, error) {
	if t.in == nil {
		return 0, nil
	}
	t.start.Do(func() { go t.pump() })
	n, err := pipeReader{t.lines}.read(p, b)
	if n == 1 && b[0] == 4 { // ^D
		return 0, nil
	}
	if i := bytes.IndexByte(b[:n], 4); i >= 0 {
		t.lines.unread(b[i:n])
		n = i
	}
	return n, err
}

func (t *terminal) write(p *proc, b []byte) (int, error) {
	text := bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	if _, err := t.out.write(p, text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// echo writes to the client, without waiting for the result.
func (t *terminal) echo(s string) {
	if t.out.w == nil {
		return
	}
	if wait := t.m.output.take(float64(len(s)), time.Now()); wait > 0 {
		return
	}
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	_, _ = io.WriteString(t.out.w, s)
}

// pump edits the lines that the client types.
func (t *terminal) pump() {
	defer pipeWriter{t.lines}.close()
	defer func() {
		if r := recover(); r != nil { // it must not end the host
			t.echo(fmt.Sprintf("terminal: simulation failed: %v\r\n", r))
		}
	}()
	buf := make([]byte, 1024)
	for {
		n, err := t.in.Read(buf)
		for _, c := range buf[:n] {
			t.key(c)
		}
		if err != nil || t.closed() {
			return
		}
	}
}

func (t *terminal) closed() bool {
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	return t.lines.readClosed
}

// key handles a byte that the client typed.
func (t *terminal) key(c byte) {
	echo, line, interrupt := t.edit(c)
	t.echo(echo)
	if interrupt != nil {
		interrupt()
	}
	if line != nil {
		pipeWriter{t.lines}.put(line)
	}
}

// edit changes the line that is edited. It returns what the client sees, the
// line if it is complete, and what interrupts the programs.
func (t *terminal) edit(c byte) (echo string, line []byte, interrupt func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.escape) > 0:
		echo = t.escaped(c)
	case c == 0x1b:
		t.escape = []byte{c}
	case c == '\r' || c == '\n':
		line, echo = append(t.line, '\n'), "\r\n"
		t.remember()
	case c == 3: // ^C
		t.line, echo, interrupt = nil, "^C", t.interrupt
	case c == 4: // ^D
		line = append(t.line, 4)
		if len(t.line) > 0 {
			line = t.line
		}
		t.line = nil
	case c == 0x7f || c == 8:
		if len(t.line) > 0 {
			_, n := utf8.DecodeLastRune(t.line)
			t.line, echo = t.line[:len(t.line)-n], "\b \b"
		}
	case c == 21: // ^U
		echo = t.replace(nil)
	case c == 12: // ^L
		echo = "\x1b[H\x1b[2J" + string(t.line)
	case c < ' ' && c != '\t':
	case len(t.line) < maxLine:
		t.line, echo = append(t.line, c), string([]byte{c})
	}
	return echo, line, interrupt
}

// escaped handles a byte of an escape sequence: the arrows up and down recall
// lines, all others are ignored.
func (t *terminal) escaped(c byte) (echo string) {
	t.escape = append(t.escape, c)
	if len(t.escape) == 2 && (c == '[' || c == 'O') || len(t.escape) < 8 && c >= '0' && c <= '?' {
		return ""
	}
	t.escape = nil
	switch {
	case c == 'A' && t.at > 0:
		t.at--
	case c == 'B' && t.at < len(t.history):
		t.at++
	default:
		return ""
	}
	if t.at == len(t.history) {
		return t.replace(nil)
	}
	return t.replace(t.history[t.at])
}

// replace replaces the line that is edited.
func (t *terminal) replace(line []byte) (echo string) {
	n := utf8.RuneCount(t.line)
	t.line = append([]byte(nil), line...)
	back := bytes.Repeat([]byte("\b"), n)
	return string(back) + string(bytes.Repeat([]byte(" "), n)) + string(back) + string(t.line)
}

// discard is what ^C does at a prompt: what was typed is forgotten, and the
// shell prompts again.
func (t *terminal) discard() {
	t.lines.mu.Lock()
	t.lines.data = nil
	t.lines.mu.Unlock()
	t.newline()
	pipeWriter{t.lines}.put([]byte("\n"))
}

// remember adds the line to the history and begins another one.
func (t *terminal) remember() {
	if len(t.line) > 0 {
		if len(t.history) >= 100 {
			t.history = t.history[1:]
		}
		t.history = append(t.history, t.line)
	}
	t.line, t.at = nil, len(t.history)
}

// isTerminal reports whether a descriptor is the terminal.
func (p *proc) isTerminal(fd int) bool {
	if fd < 0 || fd >= len(p.fds) || p.fds[fd] == nil {
		return false
	}
	_, ok := p.fds[fd].file.(*terminal)
	return ok
}

// unread puts bytes back in front of what a pipe holds.
func (pp *pipe) unread(b []byte) {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	pp.data = append(append([]byte(nil), b...), pp.data...)
}

// wakeReaders makes readers look whether they are still to wait.
func (pp *pipe) wakeReaders() {
	pp.mu.Lock()
	defer pp.mu.Unlock()
	pp.changed.Broadcast()
}

func (o outerReader) wakeReaders() { o.pipe.wakeReaders() }

// timedOut reports whether a read of the process took as long as it may.
func (p *proc) timedOut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timeout != nil && p.timeout.Load()
}
