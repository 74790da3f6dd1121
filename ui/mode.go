// Package ui renders what a user sees outside the full-screen view: the stages of
// a start, the block printed when it is ready, warnings, status tables, and
// events as text or JSON lines. The faces in its subpackages and the command share
// its judgements, too: what counts as failing, which interventions help, what a
// warning says. Of the terminal it asks for its width, and Detect for its abilities;
// ages are those at the present time.
package ui

import (
	"io"
	"os"
	"runtime"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// Mode describes what the output device can display. The zero value is for a
// file: plain text, one line per stage.
type Mode struct {
	// Live redraws running stages in place, which needs a terminal.
	Live bool
	// Color allows colours and bold. The text never depends on them.
	Color bool
	// ASCII restricts symbols to ASCII.
	ASCII bool
	// Width returns the number of columns; nil or 0 means unlimited.
	Width func() int
}

// Detect returns the mode for f, and enables escape sequences on a Windows
// console. environ has the form of os.Environ; Detect respects NO_COLOR,
// CLICOLOR_FORCE, TERM and the locale.
func Detect(f *os.File, environ []string) Mode {
	terminal := term.IsTerminal(int(f.Fd()))
	m := modeFor(terminal, runtime.GOOS, environ)
	if terminal {
		lipgloss.EnableLegacyWindowsANSI(f)
		m.Width = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0 // the terminal is gone
			}
			return width
		}
	}
	return m
}

func modeFor(terminal bool, goos string, environ []string) Mode {
	env := make(map[string]string, len(environ))
	for _, e := range environ {
		key, value, _ := strings.Cut(e, "=")
		env[key] = value
	}
	profile := colorprofile.Env(environ)
	if !terminal {
		profile = colorprofile.Detect(io.Discard, environ)
	}
	return Mode{
		Live: terminal && profile > colorprofile.NoTTY,
		// colorprofile treats some values of NO_COLOR as "false"; the standard does not.
		Color: profile >= colorprofile.ANSI && env["NO_COLOR"] == "",
		ASCII: !supportsUnicode(goos, env),
	}
}

// supportsUnicode reports whether the terminal displays symbols outside ASCII.
func supportsUnicode(goos string, env map[string]string) bool {
	if goos == "windows" { // fonts of the legacy console have few symbols
		return env["WT_SESSION"] != "" || env["TERM_PROGRAM"] != ""
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(env[key]); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return goos == "darwin" // macOS terminals use UTF-8 without a locale
}

// Columns is the maximum width of a line; 0 means unlimited.
func (m Mode) Columns() int {
	if m.Width == nil {
		return 0
	}
	return max(m.Width(), 0)
}
