package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Write writes the entry as text for people.
func (e Entry) Write(out io.Writer, s Style) error {
	w := &entryWriter{Style: s}
	w.writeTitle(e)
	w.writeText(e.Purpose)
	w.writeDrawing(e.Drawing)
	w.writeObserved(e)
	w.writeList("How it decides", e.Decides)
	w.writeList("In ctrlplane", e.Here)
	w.writeFlags(e.Flags, e.Asked)
	w.writeSettings(e.Settings)
	w.writePermissions(e)
	w.writeFailures(e.Fails)
	w.writeSources(e.Source)
	_, err := out.Write(w.Bytes())
	return err
}

// entryWriter collects the lines of an entry.
type entryWriter struct {
	bytes.Buffer
	Style
}

func (w *entryWriter) writeLine(text string) { fmt.Fprintln(w, text) }

func (w *entryWriter) writeLines(lines []string) {
	for _, l := range lines {
		w.writeLine(l)
	}
}

func (w *entryWriter) writeSection(title string) {
	w.writeLine("")
	w.writeLine(w.heading(title))
}

func (w *entryWriter) writeTitle(e Entry) {
	parts := []string{w.bold(e.Name)}
	if e.State != "" {
		parts = append(parts, w.colorState(e.State))
	}
	if len(e.Aliases) > 0 {
		parts = append(parts, w.faint("also "+strings.Join(e.Aliases, ", ")))
	}
	w.writeLine(strings.Join(parts, "  "))
	if e.Reason != "" {
		w.writeLines(w.wrap(e.Reason, "  ", "  "))
	}
	w.writeLine("")
}

func (w *entryWriter) writeText(text string) { w.writeLines(w.wrap(text, "  ", "  ")) }

// writeDrawing leaves out a drawing that does not fit the width.
func (w *entryWriter) writeDrawing(text string) {
	lines := strings.Split(strings.TrimRight(w.Style.plainDrawing(text), "\n"), "\n")
	widest := 0
	for _, l := range lines {
		widest = max(widest, ansi.StringWidth(l))
	}
	if text == "" || widest+2 > w.lineWidth() {
		return
	}
	w.writeLine("")
	for _, l := range lines {
		w.writeLine(strings.TrimRight("  "+l, " "))
	}
}

func (w *entryWriter) writeList(title string, items []string) {
	if len(items) == 0 {
		return
	}
	w.writeSection(title)
	for _, item := range items {
		w.writeLines(w.wrap(item, w.plainText("  • "), "    "))
	}
}

// writeObserved writes what a control plane has observed, or why nothing is known.
func (w *entryWriter) writeObserved(e Entry) {
	if e.Client != nil {
		w.writeClient(*e.Client)
	}
	if e.Observed {
		title, none := "Watches", "no events: it checks periodically"
		if e.Client != nil {
			title, none = "Had events so far of", "nothing"
		}
		w.writeSection(title)
		w.writeText(cmp.Or(strings.Join(e.Watches, ", "), none))
		w.writeSection("Writes so far")
		var writes []string
		for _, x := range e.Writes {
			writes = append(writes, fmt.Sprintf("%s %s ×%d", x.Verb, x.Resource, x.Count))
		}
		w.writeText(cmp.Or(strings.Join(writes, ", "), "nothing"))
	}
	if len(e.Queues) > 0 {
		w.writeSection("Queues")
	}
	for _, q := range e.Queues {
		w.writeQueue(q)
	}
	switch {
	case !e.Asked:
		w.writeSection("Watches, writes, permissions")
		w.writeText(`No control plane is running. Start one with "` + cmp.Or(w.Program, "ctrlplane") + ` up".`)
	case !e.Observed:
		w.writeSection("Watches, writes")
		w.writeText("Nothing is observed, because the control plane runs with --observe-records -1.")
	}
}

// writeClient writes what the client watches that reports a controller: the watches of its controllers are the same.
func (w *entryWriter) writeClient(c Client) {
	w.writeSection("Watches of " + words.OneLine(c.Name))
	w.writeText(cmp.Or(strings.Join(c.Watches, ", "), "none"))
	if c.Refused != "" {
		w.writeText(words.OneLine(c.Refused))
	}
}

func (w *entryWriter) writeQueue(q Queue) {
	name := cmp.Or(q.Name, "unnamed")
	var numbers []string
	if q.Name == "" {
		numbers = append(numbers, "cannot be observed")
	}
	if q.Workers > 0 {
		numbers = append(numbers, words.Count(q.Workers, "worker"))
	}
	if q.observed {
		numbers = append(numbers, fmt.Sprintf("depth %d", q.Depth), words.Count(q.Adds, "add"))
		if q.ErrorRetries >= 0 {
			numbers = append(numbers, fmt.Sprintf("retries %d", q.ErrorRetries), fmt.Sprintf("requeues %d", max(q.Retries-q.ErrorRetries, 0)))
		}
	}
	w.writeLine(strings.TrimRight("  "+w.bold(name)+"  "+w.faint(strings.Join(numbers, ", ")), " "))
	if q.Key != "" {
		w.writeLines(w.wrap("A key is: "+q.Key, "    ", "    "))
	}
}

func (w *entryWriter) writeFlags(flags []control.Flag, asked bool) {
	if len(flags) == 0 {
		return
	}
	title := "Flags of kube-controller-manager"
	if !asked {
		title += ", with their defaults"
	}
	w.writeSection(title)
	for _, f := range flags {
		note := ""
		if f.Value != f.Default {
			note = "  " + w.faint("default "+cmp.Or(f.Default, `""`))
		}
		w.writeLine("  " + w.bold("--"+f.Name+"="+f.Value) + note)
		if f.Usage == "" {
			continue
		}
		for _, l := range w.wrap(f.Usage, "      ", "      ") {
			w.writeLine(w.faint(l))
		}
	}
}

func (w *entryWriter) writeSettings(settings []string) {
	if len(settings) == 0 {
		return
	}
	w.writeSection(`Flags of "ctrlplane up"`)
	w.writeText("--" + strings.Join(settings, ", --"))
}

func (w *entryWriter) writePermissions(e Entry) {
	if !e.Asked {
		return
	}
	if len(e.As) == 0 {
		return
	}
	w.writeSection("Permissions")
	for _, who := range e.As {
		w.writeLines(w.wrap("It acts as "+who+".", "  ", "  "))
	}
	for _, p := range e.Permissions {
		role := p.Role
		if p.Namespace != "" {
			role += " in namespace " + p.Namespace
		}
		w.writeLines(w.wrap(role, "  ", "  "))
		for _, r := range p.Rules {
			text := strings.Join(r.Verbs, ", ") + ": " + strings.Join(r.On, ", ")
			if len(r.Named) > 0 {
				text += ", only " + strings.Join(r.Named, ", ")
			}
			w.writeLines(w.wrap(text, "    ", "      "))
		}
	}
	if len(e.Permissions) == 0 {
		w.writeText("No role is bound to it.")
	}
}

func (w *entryWriter) writeFailures(fails []Failure) {
	w.writeSection("When it fails")
	for _, f := range fails {
		for _, l := range w.wrap(f.Sign, w.plainText("  • "), "    ") {
			w.writeLine(w.bold(l))
		}
		w.writeLines(w.wrap(f.Means, "    ", "    "))
	}
}

func (w *entryWriter) writeSources(files []Source) {
	if len(files) == 0 {
		return
	}
	w.writeSection("Source")
	module := ""
	for _, f := range files {
		m := f.Module
		if f.Version != "" {
			m += "@" + f.Version
		}
		if m != module {
			w.writeLine("  " + w.faint(m))
			module = m
		}
		w.writeLine("    " + f.Path)
	}
}
