package ui

import (
	"fmt"

	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// ReadyInfo describes a control plane that has started. Empty fields are not
// shown.
type ReadyInfo struct {
	Name        string
	Took        time.Duration // how long the start took
	URL         string
	Kubernetes  string // version of the API
	Running     int    // running controllers
	Controllers int    // all controllers
	Dir         string // data folder; empty if ephemeral
	Log         string // path of the log file
	Kubeconfig  string // path
	Context     string // context that is now current in the user's own kubeconfig
	Command     string // command that needs no setup, such as "ctrlplane kubectl"
	StopCommand string // command that stops it; empty if Ctrl-C does
	Shell       Shell
}

// RenderReady renders the block that is printed when a start is complete. Lines
// fit the mode's width, except paths and the command to copy, which must not be
// cut.
func RenderReady(mode Mode, info ReadyInfo) string {
	r := readyRenderer{mode: mode, width: mode.Columns()}
	mark := mode.paintGood(mode.Glyph("✓", "+")) + " "
	r.writeText("%sctrlplane %s is ready in %.2f s", mark, mode.paintStrong(info.Name), info.Took.Seconds())
	r.writeLine("")
	r.writeField("Address", info.URL)
	r.writeField("Kubernetes", info.Kubernetes)
	r.writeField("Controllers", formatControllers(info))
	if info.Dir == "" {
		info.Dir = "ephemeral, deleted on exit"
	}
	r.writeField("Data", info.Dir)
	r.writeField("Log", info.Log)
	if info.Context != "" {
		r.writeField("kubectl", fmt.Sprintf("current context is now %q", info.Context))
	}
	if info.Kubeconfig != "" {
		r.writeLine("")
		r.writeText("  To use it from another shell:")
		r.writeLine("")
		r.writeLine(info.Shell.exportCommand("KUBECONFIG", info.Kubeconfig))
	}
	r.writeLine("")
	if info.Command != "" {
		r.writeText("  Or: %s get namespaces", mode.paintStrong(info.Command))
	}
	if info.StopCommand != "" {
		r.writeText("  To stop it: %s", mode.paintStrong(info.StopCommand))
	} else {
		r.writeText("  Press %s to stop.", mode.paintStrong("Ctrl-C"))
	}
	return r.String()
}

func formatControllers(info ReadyInfo) string {
	if info.Running == info.Controllers {
		return fmt.Sprintf("%d, all running", info.Running)
	}
	return fmt.Sprintf("%d of %d running", info.Running, info.Controllers)
}

type readyRenderer struct {
	strings.Builder
	mode  Mode
	width int
}

func (r *readyRenderer) writeLine(s string) { r.WriteString(s + "\n") }

// writeText writes a sentence and wraps it with a hanging indent where it is wider
// than the terminal.
func (r *readyRenderer) writeText(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	const indent = "  "
	if r.width > len(indent) && lipgloss.Width(s) > r.width {
		s = lipgloss.Wrap(strings.TrimPrefix(s, indent), r.width-len(indent), "")
		s = strings.ReplaceAll(s, "\n", "\n"+indent)
	}
	r.writeLine(s)
}

// writeField writes a value beside its name or, if it does not fit there, below.
func (r *readyRenderer) writeField(name, value string) {
	if value == "" {
		return
	}
	const column = len("  Controllers  ")
	gap := strings.Repeat(" ", column-len("  ")-len(name))
	if r.width > 0 && column+lipgloss.Width(value) > r.width {
		gap = "\n    "
	}
	r.writeLine("  " + r.mode.paintFaint(name) + gap + value)
}
