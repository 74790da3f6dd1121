package learn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// errReaderLeft says that the reader has left with quit, Ctrl-C or Ctrl-D.
var errReaderLeft = errors.New("the reader has left")

// errLeaveKey says that the reader has pressed Ctrl-C or Ctrl-D at an empty prompt.
var errLeaveKey = errors.New("leave?")

const (
	ctrlC = 0x03
	// ctrlCKey stands for Ctrl-C in what the line editor reads: it would end the line.
	ctrlCKey = '\uf003'
)

// console reads from and writes to the reader: with a line editor on a terminal, line
// by line otherwise.
type console struct {
	style
	out    io.Writer
	in     *input
	tty    *os.File // nil without a terminal
	editor *term.Terminal
	ctx    context.Context // of the current read

	complete   func(line string) completion // of a command line; nil = none
	completing func(line string) completion // that of the current read
	leaving    bool                         // Ctrl-C was pressed at an empty prompt
	shown      int                          // rows since the last prompt
	rows       func() int                   // the terminal's height; 0 = nothing is paged
	interrupts *Interrupts
}

func newConsole(in *os.File, out io.Writer, s style, terminal bool) *console {
	c := &console{style: s, out: out, in: newInput(in)}
	c.rows = c.terminalRows
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
	c.editor.AutoCompleteCallback = c.handleKey
	if old != nil {
		c.editor.History = old.History
	}
}

// Read implements io.Reader for the line editor.
func (c *console) Read(p []byte) (int, error) {
	if c.leaving {
		c.leaving = false
		return 0, errLeaveKey
	}
	key := utf8.AppendRune(nil, ctrlCKey)
	raw := make([]byte, max(len(p)/len(key), 1))
	n, err := c.in.read(c.ctx, raw)
	if i := bytes.IndexByte(raw[:n], ctrlC); i >= 0 { // what follows may be for the next prompt
		c.in.unread = append(bytes.Clone(raw[i+1:n]), c.in.unread...)
		n = i + 1
	}
	return copy(p, bytes.ReplaceAll(raw[:n], []byte{ctrlC}, key)), err
}

// handleKey handles the keys of which the line editor knows nothing: Ctrl-C clears the
// line, Tab completes it.
func (c *console) handleKey(line string, at int, key rune) (string, int, bool) {
	switch {
	case key == ctrlCKey:
		c.leaving = line == ""
		return "", 0, true
	case key == '\t' && c.completing != nil:
		return c.completeLine(line, at)
	}
	return line, at, key == '\t'
}

// Write implements io.Writer for the line editor.
func (c *console) Write(p []byte) (int, error) { return c.out.Write(p) }

func (c *console) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.shown += c.countRows(text)
	fmt.Fprint(c.out, text)
}

// printWriter prints what is written to it.
type printWriter struct{ *console }

func (w printWriter) Write(p []byte) (int, error) {
	w.printf("%s", p)
	return len(p), nil
}

// readLine prints a prompt and reads a line. It returns errReaderLeft if the reader wants
// to leave, or the cause of the end of ctx.
func (c *console) readLine(ctx context.Context, prompt string) (string, error) {
	for {
		line, err := c.readOnce(ctx, prompt)
		if !errors.Is(err, errLeaveKey) {
			return line, err
		}
		if err := c.confirmLeaving(ctx); err != nil {
			return "", err
		}
	}
}

// confirmLeaving asks the reader whether to leave; Ctrl-C again is a yes. It returns
// errReaderLeft if so.
func (c *console) confirmLeaving(ctx context.Context) error {
	completing := c.completing
	c.completing = nil
	defer func() { c.completing = completing }()
	answer, err := c.readOnce(ctx, "Leave the lesson, and delete what it has created? [y/N] ")
	if answer = strings.ToLower(strings.TrimSpace(answer)); errors.Is(err, errLeaveKey) || answer == "y" || answer == "yes" {
		return errReaderLeft
	}
	return err
}

// readCommandLine is readLine for a command, which Tab completes.
func (c *console) readCommandLine(ctx context.Context, prompt string) (string, error) {
	c.completing = c.complete
	defer func() { c.completing = nil }()
	return c.readLine(ctx, prompt)
}

// readOnce reads a line. It returns errLeaveKey after Ctrl-C or Ctrl-D at an empty prompt.
func (c *console) readOnce(ctx context.Context, prompt string) (string, error) {
	defer c.interrupts.beginPrompt()()
	c.ctx, c.shown, c.leaving = ctx, 0, false
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
	if width := c.Columns(); width > 0 {
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
	case errors.Is(err, io.EOF), errors.Is(err, errLeaveKey):
		c.printf("\r\n")
		c.resetEditor()
		if errors.Is(c.in.err, io.EOF) { // the terminal was closed: there is no one to ask
			return "", errReaderLeft
		}
		return "", errLeaveKey
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
