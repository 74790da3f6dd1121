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

// Ready writes what Render draws.
func Ready(w io.Writer, mode Mode, info ReadyInfo) error {
	_, err := io.WriteString(w, Render(mode, info))
	return err
}

// Render draws the block that closes a start. Lines are as wide as the mode's
// width, except those that would break if they were cut: paths, and the line
// that is to be copied.
func Render(mode Mode, info ReadyInfo) string {
	r := renderer{mode: mode, width: mode.width()}
	mark := mode.good(mode.either("✓", "+")) + " "
	r.text("%sctrlplane %s is ready in %.2f s", mark, mode.strong(info.Name), info.Took.Seconds())
	r.line("")
	r.field("Address", info.URL)
	r.field("Kubernetes", info.Kubernetes)
	r.field("Controllers", controllers(info))
	if info.Dir == "" {
		info.Dir = "ephemeral: not kept"
	}
	r.field("Data", info.Dir)
	r.field("Log", info.Log)
	if info.Context != "" {
		r.field("kubectl", fmt.Sprintf("uses it now, context %q", info.Context))
	}
	if info.Kubeconfig != "" {
		r.line("")
		r.text("  To reach it from another shell:")
		r.line("")
		r.line(info.Shell.export("KUBECONFIG", info.Kubeconfig))
	}
	r.line("")
	if info.Command != "" {
		r.text("  Or: %s get namespaces", mode.strong(info.Command))
	}
	r.text("  %s stops it.", mode.strong("Ctrl-C"))
	return r.String()
}

func controllers(info ReadyInfo) string {
	if info.Running == info.Controllers {
		return fmt.Sprintf("%d, all running", info.Running)
	}
	return fmt.Sprintf("%d of %d running", info.Running, info.Controllers)
}

type renderer struct {
	strings.Builder
	mode  Mode
	width int
}

func (r *renderer) line(s string) { r.WriteString(s + "\n") }

// text writes a sentence. Where it is too long it is broken between words and
// goes on below its beginning.
func (r *renderer) text(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	const indent = "  "
	if r.width > len(indent) && lipgloss.Width(s) > r.width {
		s = lipgloss.Wrap(strings.TrimPrefix(s, indent), r.width-len(indent), "")
		s = strings.ReplaceAll(s, "\n", "\n"+indent)
	}
	r.line(s)
}

// field writes a value beside its name or, where that is too long, below it.
func (r *renderer) field(name, value string) {
	if value == "" {
		return
	}
	const column = len("  Controllers  ")
	gap := strings.Repeat(" ", column-len("  ")-len(name))
	if r.width > 0 && column+lipgloss.Width(value) > r.width {
		gap = "\n    "
	}
	r.line("  " + r.mode.faint(name) + gap + value)
}
