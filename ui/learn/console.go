package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errReaderLeft says that the reader has left with quit, Ctrl-C or Ctrl-D.
var errReaderLeft = errors.New("the reader has left")

// console reads from and writes to the reader: with a line editor on a terminal, line
// by line otherwise.
type console struct {
	style
	out    io.Writer
	in     *input
	tty    *os.File // nil without a terminal
	editor *term.Terminal
	ctx    context.Context // of the current read
}

func newConsole(in *os.File, out io.Writer, s style, terminal bool) *console {
	c := &console{style: s, out: out, in: newInput(in)}
	if terminal {
		c.tty = in
		c.resetEditor()
	}
	return c
}

// resetEditor replaces the line editor by a new one with the same history.
func (c *console) resetEditor() {
	old := c.editor
	c.editor = term.NewTerminal(c, "")
	if old != nil {
		c.editor.History = old.History
	}
}

// Read implements io.Reader for the line editor.
func (c *console) Read(p []byte) (int, error) { return c.in.read(c.ctx, p) }

// Write implements io.Writer for the line editor.
func (c *console) Write(p []byte) (int, error) { return c.out.Write(p) }

func (c *console) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// readLine prints a prompt and reads a line. It returns errReaderLeft at the end of the
// input, or the cause of the end of ctx.
func (c *console) readLine(ctx context.Context, prompt string) (string, error) {
	c.ctx = ctx
	if c.tty == nil {
		return c.readPlainLine(prompt)
	}
	fd := int(c.tty.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() {
		_ = term.Restore(fd, state) // it only fails if the terminal was closed
	}()
	if width := c.terminalWidth(); width > 0 {
		if err := c.editor.SetSize(width, 24); err != nil {
			return "", err
		}
	}
	c.editor.SetPrompt(prompt)
	text, err := c.editor.ReadLine()
	switch {
	case ctx.Err() != nil:
		c.printf("\r\x1b[K") // erase the prompt
		c.resetEditor()      // the old one would still show the prompt
		return "", context.Cause(ctx)
	case errors.Is(err, io.EOF):
		c.printf("\r\n")
		return "", errReaderLeft
	}
	return text, err
}

// readPlainLine reads a line without an editor, and echoes it, so that the output shows
// what was typed.
func (c *console) readPlainLine(prompt string) (string, error) {
	c.printf("%s", prompt)
	var b strings.Builder
	one := make([]byte, 1)
	for {
		_, err := c.in.read(c.ctx, one)
		switch {
		case errors.Is(err, io.EOF) && b.Len() == 0:
			c.printf("\n")
			return "", errInputEnded
		case err != nil && !errors.Is(err, io.EOF):
			c.printf("\n")
			return "", err
		case err != nil || one[0] == '\n':
			text := strings.TrimSuffix(b.String(), "\r")
			c.printf("%s\n", text)
			return text, nil
		}
		b.WriteByte(one[0])
	}
}

// errInputEnded says that the input ended before the lesson.
var errInputEnded = errors.New("the input ended before the lesson: provide one line per answer or command, or use --auto")
