package screen

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// trackModes records the modes that the program sets.
func (s *Screen) trackModes() {
	s.emulator.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { s.modes[m] = true },
		DisableMode: func(m ansi.Mode) { s.modes[m] = false },
	})
	// Synchronized updates are implemented by this package.
	s.emulator.RegisterCsiHandler(ansi.Command('?', '$', 'p'), func(p ansi.Params) bool {
		n, _, _ := p.Param(0, 0)
		if n != ansi.ModeSynchronizedOutput.Mode() {
			return false
		}
		setting := ansi.ModeReset
		if s.modes[ansi.ModeSynchronizedOutput] {
			setting = ansi.ModeSet
		}
		_, _ = io.WriteString(s.emulator.InputPipe(), ansi.ReportMode(ansi.ModeSynchronizedOutput, setting)) // a pipe to sendReplies
		return true
	})
	// Margins below the last row make the emulator panic at the next scroll. A program sends
	// them that has not yet noticed that the screen was made smaller; it then draws again.
	s.emulator.RegisterCsiHandler('r', func(p ansi.Params) bool {
		bottom, _, _ := p.Param(1, 0)
		return bottom > s.emulator.Height()
	})
	s.emulator.RegisterCsiHandler(ansi.Command('>', 0, 'u'), func(ansi.Params) bool {
		s.keyboardLevels++
		return true
	})
	s.emulator.RegisterCsiHandler(ansi.Command('<', 0, 'u'), func(p ansi.Params) bool {
		n, _, _ := p.Param(0, 1)
		s.keyboardLevels -= max(n, 1)
		return true
	})
}

// StateChanges lists how the terminal differs from its initial state: nothing once a
// full-screen program has ended cleanly.
func (s *Screen) StateChanges() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []string
	for m, on := range s.modes {
		if on != (m == ansi.ModeTextCursorEnable || m == ansi.ModeAutoWrap) {
			changes = append(changes, fmt.Sprintf("mode %d is %s", m.Mode(), onOff(on)))
		}
	}
	slices.SortFunc(changes, cmp.Compare)
	if s.keyboardLevels != 0 {
		changes = append(changes, fmt.Sprintf("%d levels of the keyboard protocol", s.keyboardLevels))
	}
	now, err := terminalState(s.tty)
	if err == nil && *now != *s.initialState {
		changes = append(changes, "keys are read in a different mode")
	}
	return changes, err
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// newTerminalState returns the state of a new terminal: a program may have changed that of its own as
// soon as it runs.
func newTerminalState() (*term.State, error) {
	terminal, program, err := pty.Open()
	if err != nil {
		return nil, err
	}
	state, err := terminalState(terminal)
	return state, errors.Join(err, program.Close(), terminal.Close())
}

// terminalState returns the line settings, such as raw mode or echo.
func terminalState(tty *os.File) (*term.State, error) {
	conn, err := tty.SyscallConn()
	if err != nil {
		return nil, err
	}
	var state *term.State
	var stateErr error
	if err := conn.Control(func(fd uintptr) { state, stateErr = term.GetState(int(fd)) }); err != nil {
		return nil, err
	}
	return state, stateErr
}
