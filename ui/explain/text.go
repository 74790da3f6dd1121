package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/control"
)

// Write writes all there is to say of a controller, for people.
func (e Entry) Write(out io.Writer, s Style) error {
	w := &writer{Style: s}
	w.title(e)
	w.text(e.Purpose)
	w.drawing(e.Drawing)
	w.observed(e)
	w.list("How it decides", e.Decides)
	w.list("Here", e.Here)
	w.flags(e.Flags, e.Asked)
	w.settings(e.Settings)
	w.permissions(e)
	w.fails(e.Fails)
	w.source(e.Source)
	_, err := out.Write(w.Bytes())
	return err
}

// writer collects the lines.
type writer struct {
	bytes.Buffer
	Style
}

func (w *writer) line(text string) { fmt.Fprintln(w, text) }

func (w *writer) lines(lines []string) {
	for _, l := range lines {
		w.line(l)
	}
}

func (w *writer) section(title string) {
	w.line("")
	w.line(w.heading(title))
}

func (w *writer) title(e Entry) {
	parts := []string{w.strong(e.Name)}
	if e.State != "" {
		parts = append(parts, w.state(e.State))
	}
	if len(e.Aliases) > 0 {
		parts = append(parts, w.faint("also "+strings.Join(e.Aliases, ", ")))
	}
	w.line(strings.Join(parts, "  "))
	if e.Reason != "" {
		w.lines(w.wrap(e.Reason, "  ", "  "))
	}
	w.line("")
}

func (w *writer) text(text string) { w.lines(w.wrap(text, "  ", "  ")) }

// drawing leaves a drawing out where it would not fit.
func (w *writer) drawing(text string) {
	lines := strings.Split(strings.TrimRight(w.Style.drawing(text), "\n"), "\n")
	widest := 0
	for _, l := range lines {
		widest = max(widest, ansi.StringWidth(l))
	}
	if text == "" || widest+2 > w.width() {
		return
	}
	w.line("")
	for _, l := range lines {
		w.line(strings.TrimRight("  "+l, " "))
	}
}

func (w *writer) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	w.section(title)
	for _, item := range items {
		w.lines(w.wrap(item, w.plain("  • "), "    "))
	}
}

// observed is what a control plane tells or, where none does, why.
func (w *writer) observed(e Entry) {
	if e.Observed {
		w.section("Watches")
		w.text(cmp.Or(strings.Join(e.Watches, ", "), "no events: it looks from time to time"))
		w.section("Writes, so far")
		var writes []string
		for _, x := range e.Writes {
			writes = append(writes, fmt.Sprintf("%s %s ×%d", x.Verb, x.Resource, x.Count))
		}
		w.text(cmp.Or(strings.Join(writes, ", "), "nothing"))
	}
	if len(e.Queues) > 0 {
		w.section("Queues")
	}
	for _, q := range e.Queues {
		w.queue(q)
	}
	switch {
	case !e.Asked:
		w.section("Watches, writes, permissions")
		w.text(`No control plane runs to observe. Start one with "ctrlplane up".`)
	case !e.Observed:
		w.section("Watches, writes")
		w.text("Nothing is observed: the control plane runs with --observe-records -1.")
	}
}

func (w *writer) queue(q Queue) {
	name := cmp.Or(q.Name, "unnamed")
	var numbers []string
	if q.Name == "" {
		numbers = append(numbers, "cannot be observed")
	}
	if q.Workers > 0 {
		numbers = append(numbers, plural(int64(q.Workers), "worker"))
	}
	if q.seen {
		numbers = append(numbers, fmt.Sprintf("depth %d", q.Depth), plural(q.Adds, "add"), fmt.Sprintf("retries %d", q.Retries))
	}
	w.line(strings.TrimRight("  "+w.strong(name)+"  "+w.faint(strings.Join(numbers, ", ")), " "))
	if q.Key != "" {
		w.lines(w.wrap("A key is: "+q.Key, "    ", "    "))
	}
}

func (w *writer) flags(flags []control.Flag, asked bool) {
	if len(flags) == 0 {
		return
	}
	title := "Flags of kube-controller-manager"
	if !asked {
		title += ", with their defaults"
	}
	w.section(title)
	for _, f := range flags {
		note := ""
		if f.Value != f.Default {
			note = "  " + w.faint("default "+cmp.Or(f.Default, `""`))
		}
		w.line("  " + w.strong("--"+f.Name+"="+f.Value) + note)
		if f.Usage == "" {
			continue
		}
		for _, l := range w.wrap(f.Usage, "      ", "      ") {
			w.line(w.faint(l))
		}
	}
}

func (w *writer) settings(settings []string) {
	if len(settings) == 0 {
		return
	}
	w.section(`Flags of "ctrlplane up"`)
	w.text("--" + strings.Join(settings, ", --"))
}

func (w *writer) permissions(e Entry) {
	if !e.Asked {
		return
	}
	w.section("Permissions")
	for _, who := range e.As {
		w.lines(w.wrap("It acts as "+who+".", "  ", "  "))
	}
	for _, p := range e.Permissions {
		role := p.Role
		if p.Namespace != "" {
			role += " in namespace " + p.Namespace
		}
		w.lines(w.wrap(role, "  ", "  "))
		for _, r := range p.Rules {
			text := strings.Join(r.Verbs, ", ") + ": " + strings.Join(r.On, ", ")
			if len(r.Named) > 0 {
				text += ", only " + strings.Join(r.Named, ", ")
			}
			w.lines(w.wrap(text, "    ", "      "))
		}
	}
	if len(e.Permissions) == 0 {
		w.text("No role is bound to it.")
	}
}

func (w *writer) fails(fails []Failure) {
	w.section("When it fails")
	for _, f := range fails {
		for _, l := range w.wrap(f.Sign, w.plain("  • "), "    ") {
			w.line(w.strong(l))
		}
		w.lines(w.wrap(f.Means, "    ", "    "))
	}
}

func (w *writer) source(files []Source) {
	w.section("Source")
	module := ""
	for _, f := range files {
		m := f.Module
		if f.Version != "" {
			m += "@" + f.Version
		}
		if m != module {
			w.line("  " + w.faint(m))
			module = m
		}
		w.line("    " + f.Path)
	}
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
