package shell

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxScript is how long a script may be.
	maxScript = 256 << 10
	// maxParserFrames is how deep the parser may recurse: the stack of the
	// host must not overflow, however a script is nested.
	maxParserFrames = 1200
	// parseCost is what a byte of a script costs in memory, roughly.
	parseCost = 24
)

var (
	errNested  = errors.New("nested too deeply")
	errTooLong = fmt.Errorf("longer than %d KiB", maxScript>>10)
)

// guardedReader hands a script to the parser in small pieces and stops it
// when the parser has recursed too deeply.
type guardedReader struct {
	src   string
	limit int
}

// guard returns a reader for a script that is parsed from here.
func guard(src string) *guardedReader {
	return &guardedReader{src: src, limit: stackDepth() + maxParserFrames}
}

// stackDepth returns the number of frames on the stack.
func stackDepth() int {
	for size := 128; ; size *= 8 {
		if n := runtime.Callers(0, make([]uintptr, size)); n < size {
			return n
		}
	}
}

// Read implements [io.Reader].
func (g *guardedReader) Read(b []byte) (int, error) {
	if g.src == "" {
		return 0, io.EOF
	}
	var frame [1]uintptr
	if runtime.Callers(g.limit, frame[:]) > 0 {
		return 0, errNested
	}
	n := copy(b[:min(len(b), 256)], g.src)
	g.src = g.src[n:]
	return n, nil
}

// parse parses a script. A panic of the parser is an error: callers outside of
// a process do not recover it.
func parse(src string) (file *syntax.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("the parser failed: %v", r)
		}
	}()
	if len(src) > maxScript {
		return nil, errTooLong
	}
	return newParser().Parse(guard(src), "")
}

// newParser returns a parser of scripts.
func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// parseText parses text in which only expansions have a meaning.
func parseText(src string) (word *syntax.Word, err error) {
	defer func() {
		if r := recover(); r != nil {
			word, err = nil, fmt.Errorf("the parser failed: %v", r)
		}
	}()
	return newParser().Document(guard(src))
}

// syntaxError describes a parse error in one line.
func syntaxError(err error) string {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return fmt.Sprintf("line %d: syntax error: %s", e.Pos.Line(), e.Text)
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return fmt.Sprintf("line %d: syntax error: %s", e.Pos.Line(), e.Feature)
	}
	return "syntax error: " + strings.TrimSpace(err.Error())
}
