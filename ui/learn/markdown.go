package learn

import (
	"regexp"
	"strings"
)

var listItem = regexp.MustCompile(`^(\s*)([-*]|\d+\.)\s+(.*)$`)

// renderMarkdown renders the part of Markdown that lessons use: paragraphs, lists,
// quotes, "### …" headings and inline markup.
func (s style) renderMarkdown(text string) string {
	var b strings.Builder
	p := paragraph{style: s}
	for l := range strings.SplitSeq(text, "\n") {
		m := listItem.FindStringSubmatch(l)
		switch {
		case strings.TrimSpace(l) == "":
			p.flush(&b)
			b.WriteString("\n")
		case strings.HasPrefix(l, "### "):
			p.flush(&b)
			b.WriteString(s.bold(strings.TrimPrefix(l, "### ")) + "\n")
		case m != nil:
			p.flush(&b)
			bullet := m[2]
			if bullet == "-" || bullet == "*" {
				bullet = s.Glyph("•", "-")
			}
			p.first = m[1] + "  " + bullet + " "
			p.rest = strings.Repeat(" ", len(m[1])+3+len([]rune(bullet)))
			p.words = append(p.words, m[3])
		case strings.HasPrefix(l, ">"):
			if p.first == "" && len(p.words) > 0 {
				p.flush(&b)
			}
			p.first = s.faint(s.Glyph("│", "|")) + " "
			p.rest = p.first
			p.words = append(p.words, strings.TrimSpace(strings.TrimPrefix(l, ">")))
		default:
			p.words = append(p.words, strings.TrimSpace(l))
		}
	}
	p.flush(&b)
	return b.String()
}

// paragraph collects lines that are wrapped together.
type paragraph struct {
	style
	first, rest string
	words       []string
}

func (p *paragraph) flush(b *strings.Builder) {
	if len(p.words) > 0 {
		b.WriteString(p.wrap(p.first, p.rest, p.renderInline(strings.Join(p.words, " "))))
	}
	p.first, p.rest, p.words = "", "", nil
}

// renderCode renders a code listing.
func (s style) renderCode(c *Code) string {
	var b strings.Builder
	if c.File != "" {
		b.WriteString(s.faint(s.Glyph("── ", "-- ")+c.File) + "\n")
	}
	for l := range strings.SplitSeq(c.Text, "\n") {
		b.WriteString(strings.TrimRight("  "+s.code(strings.ReplaceAll(l, "\t", "    ")), " ") + "\n")
	}
	return b.String()
}
