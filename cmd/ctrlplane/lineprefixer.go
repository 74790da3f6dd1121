package main

import (
	"bytes"
	"io"
	"sync"
)

// maxUnended is how long a line may be before it is written although it has not ended.
const maxUnended = 1 << 20

// linePrefixer writes whole lines, each with a prefix.
type linePrefixer struct {
	out    io.Writer
	prefix string
	before *linePrefixer // which is flushed before a line of ctrlplane; may be nil

	mu   sync.Mutex
	rest []byte // of a line that has not ended
}

func newLinePrefixer(out io.Writer, version string) *linePrefixer {
	return &linePrefixer{out: out, prefix: "[" + version + "] "}
}

func (p *linePrefixer) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, data...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	if end == 0 && len(p.rest) < maxUnended {
		return len(data), nil
	}
	if end == 0 {
		p.rest = append(p.rest, '\n')
		end = len(p.rest)
	}
	if p.before != nil && hasOwnLine(p.rest[:end]) {
		p.before.flush()
	}
	err := p.writeLines(p.rest[:end])
	p.rest = bytes.Clone(p.rest[end:])
	return len(data), err
}

// hasOwnLine reports whether a line is one of ctrlplane.
func hasOwnLine(lines []byte) bool {
	own := []byte("ctrlplane: ")
	return bytes.HasPrefix(lines, own) || bytes.Contains(lines, append([]byte{'\n'}, own...))
}

func (p *linePrefixer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		_ = p.writeLines(append(p.rest, '\n')) // the process that could be told has ended
		p.rest = nil
	}
}

func (p *linePrefixer) writeLines(lines []byte) error {
	var out []byte
	for line := range bytes.Lines(lines) {
		out = append(append(out, p.prefix...), line...)
	}
	outputs.Lock()
	defer outputs.Unlock()
	_, err := p.out.Write(out)
	return err
}
