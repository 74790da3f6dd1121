package main

import (
	"io"
	"sync/atomic"
)

// unendedLine reports whether what the command has written to stderr ends within a line.
var unendedLine atomic.Bool

// commandStderr passes on what the command writes to stderr, or to stdout if that is the same.
type commandStderr struct{ io.Writer }

func (c commandStderr) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if n > 0 {
		unendedLine.Store(p[n-1] != '\n')
	}
	return n, err
}

// ownLines writes lines of ctrlplane to stderr. They begin on a new line: CI services read commands only there.
type ownLines struct{ io.Writer }

func (o ownLines) Write(p []byte) (int, error) {
	if len(p) == 0 || !unendedLine.Swap(false) {
		return o.Writer.Write(p)
	}
	n, err := o.Writer.Write(append([]byte{'\n'}, p...))
	return max(n-1, 0), err
}
