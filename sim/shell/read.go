package shell

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// readOptions are the options of read.
type readOptions struct {
	raw, array bool
	prompt     string
	most       int
	delim      byte
	timeout    time.Duration
	fd         int
	names      []string
}

func parseRead(args []string) (readOptions, error) {
	o := readOptions{most: -1, delim: '\n'}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		flags := args[0][1:]
		args = args[1:]
		for i := 0; i < len(flags); i++ {
			flag := flags[i]
			switch flag {
			case 'r':
				o.raw = true
				continue
			case 's', 'e':
				continue
			case 'a':
				o.array = true
				continue
			}
			value := flags[i+1:]
			i = len(flags)
			if value == "" {
				if len(args) == 0 {
					return o, fmt.Errorf("read: option -%c needs an argument", flag)
				}
				value, args = args[0], args[1:]
			}
			if err := o.set(flag, value); err != nil {
				return o, err
			}
		}
	}
	o.names = args
	for _, name := range args {
		if !syntax.ValidName(name) {
			return o, fmt.Errorf("read: %s: bad variable name", name)
		}
	}
	return o, nil
}

func (o *readOptions) set(flag byte, value string) (err error) {
	switch flag {
	case 'p':
		o.prompt = value
	case 'n', 'N':
		o.most, err = strconv.Atoi(value)
	case 'd':
		o.delim = 0
		if value != "" {
			o.delim = value[0]
		}
	case 't':
		var s float64
		s, err = strconv.ParseFloat(value, 64)
		o.timeout = time.Duration(max(s*1e9, 1))
	case 'u':
		o.fd, err = strconv.Atoi(value)
		if o.fd < 0 || o.fd >= len(fds{}) {
			err = syscall.EBADF
		}
	default:
		return fmt.Errorf("read: illegal option -%c", flag)
	}
	if err != nil {
		return fmt.Errorf("read: -%c %s: %s", flag, value, errText(err))
	}
	return nil
}

func builtinRead(sh *shell, args []string) flow {
	o, err := parseRead(args[1:])
	if err != nil {
		sh.errorf("%v", err)
		sh.status = 2
		return next
	}
	if o.prompt != "" && sh.p.isTerminal(0) {
		_, _ = stream{sh.p, 2}.Write([]byte(o.prompt))
	}
	line, escaped, ended := sh.readLine(o)
	defer sh.p.hold(-len(line) - len(escaped))
	sh.status = int(truth(!ended))
	if o.array {
		name := "REPLY"
		if len(o.names) > 0 {
			name = o.names[0]
		}
		sh.checkWritable(name)
		sh.setVar(name, variable{array: true, set: true, list: sh.splitRead(line, escaped, -1)})
		return next
	}
	if len(o.names) == 0 {
		sh.set("REPLY", string(line))
		return next
	}
	parts := sh.splitRead(line, escaped, len(o.names))
	for i, name := range o.names {
		part := ""
		if i < len(parts) {
			part = parts[i]
		}
		sh.set(name, part)
	}
	return next
}

// readLine reads a line byte by byte, as what follows it is for other readers.
// It returns which bytes were escaped by a backslash, and whether the line was
// complete.
func (sh *shell) readLine(o readOptions) (line []byte, escaped []bool, ended bool) {
	p := sh.p
	if o.timeout > 0 {
		var over atomic.Bool
		p.mu.Lock()
		p.timeout = &over
		p.mu.Unlock()
		source := p.fds[o.fd]
		timer := time.AfterFunc(o.timeout, func() {
			over.Store(true)
			if source == nil {
				return
			}
			if w, ok := source.file.(interface{ wakeReaders() }); ok {
				w.wakeReaders()
			}
		})
		defer func() {
			timer.Stop()
			p.mu.Lock()
			p.timeout = nil
			p.mu.Unlock()
		}()
	}
	in := stream{p, o.fd}
	escape := false
	var b [1]byte
	for o.most < 0 || len(line) < o.most {
		if n, err := in.Read(b[:]); n == 0 || err != nil {
			return line, escaped, false
		}
		isEscaped := escape
		switch c := b[0]; {
		case escape:
			escape = false
			if c == '\n' {
				continue
			}
		case c == '\\' && !o.raw:
			escape = true
			continue
		case c == o.delim:
			return line, escaped, true
		case c == 0:
			continue
		}
		p.hold(2)
		line, escaped = append(line, b[0]), append(escaped, isEscaped)
	}
	return line, escaped, true
}

// splitRead splits a line at IFS into at most n parts; -1 = all.
func (sh *shell) splitRead(line []byte, escaped []bool, n int) (parts []string) {
	ifs := " \t\n"
	if v, ok := sh.variable("IFS"); ok {
		ifs = v
	}
	is := func(i int, set string) bool { return !escaped[i] && strings.IndexByte(set, line[i]) >= 0 }
	space := ""
	for _, c := range " \t\n" {
		if strings.ContainsRune(ifs, c) {
			space += string(c)
		}
	}
	i, end := 0, len(line)
	for i < end && is(i, space) {
		i++
	}
	for end > i && is(end-1, space) {
		end--
	}
	for i < end {
		if n >= 0 && len(parts) == n-1 {
			return append(parts, string(line[i:end]))
		}
		from := i
		for i < end && !is(i, ifs) {
			i++
		}
		parts = append(parts, string(line[from:i]))
		for i < end && is(i, space) {
			i++
		}
		if i < end && is(i, ifs) && !is(i, space) {
			i++
			for i < end && is(i, space) {
				i++
			}
		}
	}
	return parts
}
