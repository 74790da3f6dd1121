// Package ui is what a person sees: the stages of a start as they go by, what
// there is to know once it is ready, and warnings. What it draws is a function
// of its arguments; nothing is asked of the terminal but its width.
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

// Mode is what can be shown where the output goes. The zero value is for a
// file: plain text, a line a stage.
type Mode struct {
	// Live redraws the running stages in place: for a terminal.
	Live bool
	// Color allows colours and bold. They never say anything alone.
	Color bool
	// ASCII keeps to that for marks.
	ASCII bool
	// Width returns how many columns there are; nil or 0 = as many as needed.
	Width func() int
}

// Detect tells what f can show, and makes a Windows console understand what
// Mode.Live and Mode.Color need. environ is as of os.Environ; NO_COLOR,
// CLICOLOR_FORCE, TERM and the locale count.
func Detect(f *os.File, environ []string) Mode {
	terminal := term.IsTerminal(int(f.Fd()))
	m := modeFor(terminal, runtime.GOOS, environ)
	if terminal {
		lipgloss.EnableLegacyWindowsANSI(f)
		m.Width = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0 // it is gone; nobody looks
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
		// colorprofile takes some values of NO_COLOR for "false"; its standard, none.
		Color: profile >= colorprofile.ANSI && env["NO_COLOR"] == "",
		ASCII: !supportsUnicode(goos, env),
	}
}

// supportsUnicode tells whether marks beyond ASCII will be seen as such.
func supportsUnicode(goos string, env map[string]string) bool {
	if goos == "windows" { // the old console's fonts have few of them
		return env["WT_SESSION"] != "" || env["TERM_PROGRAM"] != ""
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(env[key]); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return goos == "darwin" // where UTF-8 needs no locale
}

func (m Mode) width() int {
	if m.Width == nil {
		return 0
	}
	return max(m.Width(), 0)
}
