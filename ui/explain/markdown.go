package explain

import (
	"cmp"
	"fmt"
	"strings"
)

// preface begins the document of all pages.
const preface = `# The controllers

What ` + "`ctrlplane explain NAME`" + ` says of each controller, but for what it asks
the running control plane: what it watches and writes, its queues' workers, its
flags' values and its permissions. Written by ` + "`make golden`" + ` from ` + "`explain/pages`" + `.
`

// Markdown is a document of all pages.
func Markdown(k Known) string {
	var b strings.Builder
	b.WriteString(preface)
	group := ""
	for _, p := range load() {
		if p.Group != group {
			fmt.Fprintf(&b, "\n## %s\n", Groups[p.rank()].Title)
			group = p.Group
		}
		p.Entry(k).markdown(&b)
	}
	return b.String()
}

func (e Entry) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", e.Name, escape(e.Purpose))
	if e.Drawing != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimRight(e.Drawing, "\n"))
	}
	for i, q := range e.Queues {
		if i == 0 {
			b.WriteString("\n| queue | a key is |\n| --- | --- |\n")
		}
		name := "without a name"
		if q.Name != "" {
			name = "`" + q.Name + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, escape(q.Key))
	}
	bullets(b, "How it decides", e.Decides)
	bullets(b, "Here", e.Here)
	for i, f := range e.Flags {
		if i == 0 {
			b.WriteString("\n| flag | default |\n| --- | --- |\n")
		}
		fmt.Fprintf(b, "| `--%s` | `%s` |\n", f.Name, cmp.Or(f.Default, " "))
	}
	if len(e.Settings) > 0 {
		fmt.Fprintf(b, "\nFlags of `ctrlplane up`: `--%s`.\n", strings.Join(e.Settings, "`, `--"))
	}
	b.WriteString("\nWhen it fails:\n\n")
	for _, f := range e.Fails {
		fmt.Fprintf(b, "- **%s**: %s\n", escape(f.Sign), escape(f.Means))
	}
	b.WriteString("\nSource:\n\n")
	for _, s := range e.Source {
		fmt.Fprintf(b, "- %s\n", s.markdown())
	}
}

func bullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", escape(item))
	}
}

// markdown is where the file is, as a link if it is in this repository.
func (s Source) markdown() string {
	if s.Module == self {
		return fmt.Sprintf("[%s](../%s)", s.Path, s.Path)
	}
	return "`" + s.Module + "@" + s.Version + "/" + s.Path + "`"
}

// self is this module.
const self = "github.com/ctrlplane/ctrlplane"

var escape = strings.NewReplacer("<", "&lt;", "|", `\|`, "*", `\*`, "_", `\_`).Replace
