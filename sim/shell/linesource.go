package shell

import (
	"bytes"
	"io"
)

// inputLine is a line. Only the last one of a file can lack its newline.
type inputLine struct {
	text    string
	newline bool
}

// lineSource reads lines and knows whether there is another one.
type lineSource struct {
	p    *proc
	r    io.Reader
	data []byte
	err  error
}

func newLineSource(p *proc, r io.Reader) *lineSource { return &lineSource{p: p, r: r} }

// fill reads until a line is there.
func (l *lineSource) fill() {
	if l.err != nil || bytes.IndexByte(l.data, '\n') >= 0 {
		return
	}
	buf := make([]byte, 4<<10)
	for found := false; l.err == nil && !found; {
		n, err := l.r.Read(buf)
		l.p.hold(n)
		l.data = append(l.data, buf[:n]...)
		l.err = err
		found = bytes.IndexByte(buf[:n], '\n') >= 0
	}
}

func (l *lineSource) next() (line inputLine, ok bool) {
	l.fill()
	if len(l.data) == 0 {
		return inputLine{}, false
	}
	text, rest, newline := bytes.Cut(l.data, []byte("\n"))
	l.p.hold(len(rest) - len(l.data))
	line = inputLine{string(text), newline}
	if l.data = rest; len(rest) == 0 {
		l.data = nil
	}
	return line, true
}

func (l *lineSource) ended() bool {
	l.fill()
	return len(l.data) == 0
}

func (l *lineSource) close() { l.p.hold(-len(l.data)) }
