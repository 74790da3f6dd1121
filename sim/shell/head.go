package shell

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expandCountFlag understands -N, as head and tail do, in place of -n N.
func expandCountFlag(args []string) []string {
	if len(args) > 1 && len(args[1]) > 1 && args[1][0] == '-' && args[1][1] >= '0' && args[1][1] <= '9' {
		return append([]string{args[0], "-n", args[1][1:]}, args[2:]...)
	}
	return args
}

// parseSize parses a number with a suffix.
func parseSize(s string) (int64, error) {
	multiplier := int64(1)
	number := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	if number == "" {
		return 0, fmt.Errorf("invalid number '%s'", s)
	}
	if i := strings.IndexByte("bkKmMgGT", number[max(0, len(number)-1)]); len(number) > 1 && i >= 0 {
		multiplier = []int64{512, 1 << 10, 1 << 10, 1 << 20, 1 << 20, 1 << 30, 1 << 30, 1 << 40}[i]
		number = number[:len(number)-1]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > (1<<62)/multiplier {
		return 0, fmt.Errorf("invalid number '%s'", s)
	}
	return n * multiplier, nil
}

var countFlags = map[string]byte{"lines": 'n', "bytes": 'c', "quiet": 'q', "verbose": 'v', "follow": 'f'}

func head(p *proc, args []string) int {
	f, names := p.parseFlags(expandCountFlag(args), "n:c:qv", countFlags)
	text, bytesOnly := f['n'], f.has('c')
	if bytesOnly {
		text = f['c']
	}
	n := int64(10)
	if text != "" {
		var err error
		if n, err = parseSize(text); err != nil {
			return p.fail("%v", err)
		}
	}
	first := true
	return p.eachInput(names, func(name string, r io.Reader) error {
		if len(names) > 1 && !f.has('q') || f.has('v') {
			p.fileHeader(name, first)
		}
		first = false
		if n < 0 {
			return p.allButLast(r, -n, bytesOnly)
		}
		if bytesOnly {
			return p.copy(p.stdout(), io.LimitReader(r, n))
		}
		if n == 0 {
			return nil
		}
		left := n
		return p.lines(r, func(line []byte, newline bool) bool {
			p.writeLine(line, newline)
			left--
			return left > 0
		})
	})
}

func (p *proc) fileHeader(name string, first bool) {
	if !first {
		p.print("\n")
	}
	if name == "-" {
		name = "standard input"
	}
	p.printf("==> %s <==\n", name)
}

func (p *proc) writeLine(line []byte, newline bool) {
	if newline {
		line = append(slices.Clip(line), '\n')
	}
	_, _ = p.stdout().Write(line)
}

// allButLast prints all lines or bytes but the last n.
func (p *proc) allButLast(r io.Reader, n int64, bytesOnly bool) error {
	data, release, err := p.readAll(r)
	defer release()
	if bytesOnly {
		_, werr := p.stdout().Write(data[:int64(len(data))-min(n, int64(len(data)))])
		return cmp.Or(err, werr)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines[:max(0, int64(len(lines))-min(n, int64(len(lines))))] {
		if _, err := p.stdout().Write(line); err != nil {
			return err
		}
	}
	return err
}

func tail(p *proc, args []string) int {
	f, names := p.parseFlags(expandCountFlag(args), "n:c:qvfFs:", countFlags)
	text, bytesOnly := f['n'], f.has('c')
	if bytesOnly {
		text = f['c']
	}
	fromStart := strings.HasPrefix(text, "+")
	n := int64(10)
	if text != "" {
		var err error
		if n, err = parseSize(strings.TrimLeft(text, "+-")); err != nil {
			return p.fail("%v", err)
		}
	}
	w, ok := p.parseFollow(f, names)
	if !ok {
		return 1
	}
	if w != nil {
		defer w.release()
	}
	first := true
	status := p.eachInput(names, func(name string, r io.Reader) error {
		if len(names) > 1 && !f.has('q') || f.has('v') {
			p.fileHeader(name, first)
		}
		first = false
		if file, ok := r.(fileStream); ok && w != nil {
			w.add(name, file.o)
		}
		return p.tail(r, n, fromStart, bytesOnly)
	})
	if w != nil && w.follows() {
		w.run()
	}
	return status
}

// tail prints the end of a file.
func (p *proc) tail(r io.Reader, n int64, fromStart, bytesOnly bool) error {
	if fromStart {
		skip := max(0, n-1)
		if bytesOnly {
			if err := p.copy(io.Discard, io.LimitReader(r, skip)); err != nil {
				return err
			}
			return p.copy(p.stdout(), r)
		}
		return p.lines(r, func(line []byte, newline bool) bool {
			if skip > 0 {
				skip--
				return true
			}
			p.writeLine(line, newline)
			return true
		})
	}
	const least = 64 << 10
	var kept []byte        // the last lines
	held, most := 0, least // from that size on, what is before the last lines is dropped
	defer func() { p.hold(-held) }()
	buf := make([]byte, 4<<10)
	for {
		m, err := r.Read(buf)
		p.hold(m)
		held += m
		kept = append(kept, buf[:m]...)
		if len(kept) > most || err != nil {
			rest := lastPart(kept, n, bytesOnly)
			p.hold(len(rest) - len(kept))
			held += len(rest) - len(kept)
			kept = slices.Clone(rest)
			most = max(least, 2*len(kept)) // a long line is not copied for each part of it
		}
		if err != nil {
			if _, werr := p.stdout().Write(kept); werr != nil {
				return werr
			}
			if err == io.EOF {
				err = nil
			}
			return err
		}
	}
}

// lastPart returns the last n lines or bytes.
func lastPart(b []byte, n int64, bytesOnly bool) []byte {
	if bytesOnly {
		return b[int64(len(b))-min(n, int64(len(b))):]
	}
	at := len(b)
	if at > 0 && b[at-1] == '\n' {
		at--
	}
	for ; n > 0; n-- {
		i := bytes.LastIndexByte(b[:at], '\n')
		if i < 0 {
			return b
		}
		at = i
	}
	if at == len(b) {
		return nil
	}
	return b[at+1:]
}

// wait waits; it may be called in idle.
func (p *proc) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
}
