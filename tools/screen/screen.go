// Package screen runs a program in a pseudo terminal and keeps what the terminal
// shows.
package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// Screen is the terminal of a running or finished program.
type Screen struct {
	cmd          *exec.Cmd
	tty          *os.File // the terminal's side of the pseudo terminal
	initialState *term.State
	ended        chan struct{} // closed when the program has ended and all its output is shown

	mu             sync.Mutex // guards the fields below
	emulator       *vt.Emulator
	modes          map[ansi.Mode]bool // the modes that the program has set or reset
	keyboardLevels int                // pushed levels of the keyboard protocol
	changed        chan struct{}      // closed and replaced when something is shown
}

// Start runs a command in a terminal with the given size, 256 colors on a dark
// background, and Unicode.
func Start(cmd *exec.Cmd, cols, rows int) (*Screen, error) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "COLORTERM=", "NO_COLOR=", "LC_ALL=C.UTF-8")
	s := &Screen{
		cmd: cmd, ended: make(chan struct{}),
		emulator: vt.NewEmulator(cols, rows), modes: map[ansi.Mode]bool{}, changed: make(chan struct{}),
	}
	s.emulator.SetDefaultForegroundColor(ansi.XParseColor(darkText))
	s.emulator.SetDefaultBackgroundColor(ansi.XParseColor(darkBackground))
	s.trackModes()
	var err error
	if s.initialState, err = newTerminalState(); err != nil {
		return nil, fmt.Errorf("a terminal: %w", err)
	}
	if s.tty, err = pty.StartWithSize(cmd, newWinsize(cols, rows)); err != nil {
		return nil, fmt.Errorf("%s in a terminal: %w", cmd.Path, err)
	}
	go s.sendReplies()
	go s.readOutput()
	return s, nil
}

func newWinsize(cols, rows int) *pty.Winsize {
	return &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}
}

// readOutput passes the program's output to the emulator until the program ends. A
// synchronized update is shown only when it is complete.
func (s *Screen) readOutput() {
	buf := make([]byte, 32<<10)
	for open := true; open; {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		for {
			_, _ = s.emulator.Write(buf[:n]) // fails only when closed, which does not happen here
			if open = err == nil; !open || !s.modes[ansi.ModeSynchronizedOutput] {
				break // the program has closed its side, or the update is complete
			}
			n, err = s.tty.Read(buf)
		}
		s.notifyChanged()
		s.mu.Unlock()
	}
	_ = s.cmd.Wait() // its ProcessState has the result
	if pipe, ok := s.emulator.InputPipe().(io.Closer); ok {
		_ = pipe.Close() // does not fail for a pipe
	}
	close(s.ended)
}

// notifyChanged wakes the callers of Await. The caller holds the lock.
func (s *Screen) notifyChanged() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// sendReplies sends the emulator's replies to queries to the program.
func (s *Screen) sendReplies() {
	if _, err := io.Copy(s.tty, s.emulator); err != nil {
		_, _ = io.Copy(io.Discard, s.emulator) // the program has ended
	}
}

// Send sends keys, as the bytes that a terminal sends for them.
func (s *Screen) Send(keys string) error {
	_, err := io.WriteString(s.tty, keys)
	return err
}

// Resize changes the size of the terminal and notifies the program.
func (s *Screen) Resize(cols, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emulator.Resize(cols, rows)
	return pty.Setsize(s.tty, newWinsize(cols, rows))
}

// Text returns the screen, one line per row, without trailing blanks.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.textLocked()
}

func (s *Screen) textLocked() string {
	var b strings.Builder
	for y := range s.emulator.Height() {
		var row strings.Builder
		for x := range s.emulator.Width() {
			if c := s.emulator.CellAt(x, y); c != nil {
				row.WriteString(c.Content)
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

// Await returns when ok returns true for the text of the screen. If ctx or the program
// ends before that, it returns an error that shows the screen.
func (s *Screen) Await(ctx context.Context, ok func(text string) bool) error {
	for {
		s.mu.Lock()
		text, changed := s.textLocked(), s.changed
		s.mu.Unlock()
		if ok(text) {
			return nil
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
			return fmt.Errorf("%w; the screen:\n%s", context.Cause(ctx), text)
		case <-s.ended:
		}
		if text := s.Text(); !ok(text) {
			return fmt.Errorf("%v; the screen:\n%s", s.cmd.ProcessState, text)
		}
		return nil
	}
}

// Done is closed when the program has ended and all its output is shown.
func (s *Screen) Done() <-chan struct{} { return s.ended }

// Close kills the program if it is still running and closes the terminal.
func (s *Screen) Close() error {
	err := s.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	err = errors.Join(err, s.tty.Close())
	<-s.ended
	return err
}
