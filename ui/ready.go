package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// ReadyInfo is what a person needs to know of a control plane that has started.
// What is empty is left out.
type ReadyInfo struct {
	Name        string
	Took        time.Duration // the start
	URL         string
	Kubernetes  string // version of the API
	Running     int    // controllers that run
	Controllers int    // controllers that there are
	Dir         string // data folder; empty = ephemeral
	Log         string // path of the log file
	Kubeconfig  string // path
	Context     string // context that was made current in the user's own kubeconfig
	Command     string // what reaches it with no setup, such as "ctrlplane kubectl"
	Shell       Shell
}

// WriteReady writes what Render draws.
func WriteReady(w io.Writer, mode Mode, info ReadyInfo) error {
	_, err := io.WriteString(w, RenderReady(mode, info))
	return err
}

// RenderReady draws the block that closes a start. Lines are as wide as the mode's
// width, except those that would break if they were cut: paths, and the line
// that is to be copied.
func RenderReady(mode Mode, info ReadyInfo) string {
	r := readyRenderer{mode: mode, width: mode.width()}
	mark := mode.paintGood(mode.pickGlyph("✓", "+")) + " "
	r.writeText("%sctrlplane %s is ready in %.2f s", mark, mode.paintStrong(info.Name), info.Took.Seconds())
	r.writeLine("")
	r.writeField("Address", info.URL)
	r.writeField("Kubernetes", info.Kubernetes)
	r.writeField("Controllers", formatControllers(info))
	if info.Dir == "" {
		info.Dir = "ephemeral: not kept"
	}
	r.writeField("Data", info.Dir)
	r.writeField("Log", info.Log)
	if info.Context != "" {
		r.writeField("kubectl", fmt.Sprintf("uses it now, context %q", info.Context))
	}
	if info.Kubeconfig != "" {
		r.writeLine("")
		r.writeText("  To reach it from another shell:")
		r.writeLine("")
		r.writeLine(info.Shell.exportCommand("KUBECONFIG", info.Kubeconfig))
	}
	r.writeLine("")
	if info.Command != "" {
		r.writeText("  Or: %s get namespaces", mode.paintStrong(info.Command))
	}
	r.writeText("  %s stops it.", mode.paintStrong("Ctrl-C"))
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

// writeText writes a sentence. Where it is too long it is broken between words and
// goes on below its beginning.
func (r *readyRenderer) writeText(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	const indent = "  "
	if r.width > len(indent) && lipgloss.Width(s) > r.width {
		s = lipgloss.Wrap(strings.TrimPrefix(s, indent), r.width-len(indent), "")
		s = strings.ReplaceAll(s, "\n", "\n"+indent)
	}
	r.writeLine(s)
}

// writeField writes a value beside its name or, where that is too long, below it.
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
