package explain

import (
	"cmp"
	"fmt"
	"strings"
)

// markdownPreface is the beginning of the document of all pages.
const markdownPreface = `# The controllers

The output of ` + "`ctrlplane explain NAME`" + ` for each controller, without the parts that it
reads from the running control plane: watches and writes, the queues' workers,
the flags' values and the permissions. ` + "`make golden`" + ` generates this page from
` + "`ui/explain/pages`" + `.
`

// Markdown returns a document with all pages: docs/controllers.md, which a test of package
// controllers compares and "make golden" writes. Nothing else calls it.
func Markdown(k Facts) string {
	var b strings.Builder
	b.WriteString(markdownPreface)
	group := ""
	for _, p := range loadPages() {
		if p.Group != group {
			fmt.Fprintf(&b, "\n## %s\n", groups[p.groupRank()].Title)
			group = p.Group
		}
		p.NewEntry(k).writeMarkdown(&b)
	}
	return b.String()
}

func (e Entry) writeMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", e.Name, escapeMarkdown(e.Purpose))
	if e.Drawing != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimRight(e.Drawing, "\n"))
	}
	for i, q := range e.Queues {
		if i == 0 {
			b.WriteString("\n| queue | a key is |\n| --- | --- |\n")
		}
		name := "unnamed"
		if q.Name != "" {
			name = "`" + q.Name + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, escapeMarkdown(q.Key))
	}
	writeBullets(b, "How it decides", e.Decides)
	writeBullets(b, "In ctrlplane", e.Here)
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
		fmt.Fprintf(b, "- **%s**: %s\n", escapeMarkdown(f.Sign), escapeMarkdown(f.Means))
	}
	b.WriteString("\nSource:\n\n")
	for _, s := range e.Source {
		fmt.Fprintf(b, "- %s\n", s.markdownLink())
	}
}

func writeBullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", escapeMarkdown(item))
	}
}

// markdownLink returns the location of the file, as a link if it is in this
// repository.
func (s Source) markdownLink() string {
	if s.Module == modulePath {
		return fmt.Sprintf("[%s](../%s)", s.Path, s.Path)
	}
	return "`" + s.Module + "@" + s.Version + "/" + s.Path + "`"
}

// modulePath is the path of this module.
const modulePath = "github.com/ctrlplane/ctrlplane"

var escapeMarkdown = strings.NewReplacer("<", "&lt;", "|", `\|`, "*", `\*`, "_", `\_`).Replace
