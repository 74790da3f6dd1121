package report

import (
	"fmt"
	"io"
	"strings"
)

// maxNamed is how many objects a summary and annotations name.
const maxNamed = 10

// summary is what is said of a run in short.
type summary struct {
	*Outcome
	numbers   []string
	unhealthy []unhealthy
	folder    string
}

// markdown is the summary as GitHub shows it.
func (s *summary) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### ctrlplane run: %s\n\n", s.verdict())
	fmt.Fprintf(&b, "<code>%s</code>\n\n", inMarkdown(s.command()))
	if reason := s.reason(); reason != "" {
		fmt.Fprintf(&b, "%s\n\n", inMarkdown(reason))
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(s.numbers, " · "))
	if len(s.unhealthy) > 0 {
		b.WriteString("\n| Not healthy | Why |\n| --- | --- |\n")
		for i, u := range s.unhealthy {
			if i == maxNamed {
				fmt.Fprintf(&b, "| … | %d more are in %s |\n", len(s.unhealthy)-i, PageFile)
				break
			}
			fmt.Fprintf(&b, "| %s | %s |\n", inMarkdown(u.Ref.String()), inMarkdown(u.Reason))
		}
	}
	fmt.Fprintf(&b, "\nThe report is in <code>%s</code>.\n\n", inMarkdown(s.folder))
	_, err := io.WriteString(w, b.String())
	return err
}

// inMarkdown is text that Markdown takes for nothing else.
func inMarkdown(text string) string {
	var b strings.Builder
	for _, r := range short(printable(text), 500) {
		if r < 128 && strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&@:\"'$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// annotations are commands to GitHub Actions, which shows them with the run.
func (s *summary) annotations(w io.Writer) error {
	var b strings.Builder
	if s.failed() {
		fmt.Fprintf(&b, "::error title=%s::%s\n", property("ctrlplane run "+s.verdict()), data(s.command()+": "+s.reason()))
	}
	for i, u := range s.unhealthy {
		if i == maxNamed {
			break
		}
		fmt.Fprintf(&b, "::error title=%s::%s\n", property("not healthy: "+u.Ref.String()), data(u.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25")
	propertyEscapes = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

func data(text string) string     { return dataEscapes.Replace(short(printable(text), 1000)) }
func property(text string) string { return propertyEscapes.Replace(short(printable(text), 200)) }

// section is the summary in the log of a GitLab job, where it can be folded.
// now is in Unix seconds.
func (s *summary) section(w io.Writer, now int64, link string) error {
	var b strings.Builder
	folded := "[collapsed=true]"
	if s.failed() || len(s.unhealthy) > 0 {
		folded = ""
	}
	fmt.Fprintf(&b, "\x1b[0Ksection_start:%d:ctrlplane_run%s\r\x1b[0Kctrlplane run: %s\n", now, folded, s.verdict())
	fmt.Fprintf(&b, "%s\n", short(printable(s.command()), 500))
	if reason := s.reason(); reason != "" {
		fmt.Fprintf(&b, "%s\n", short(printable(reason), 500))
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(s.numbers, ", "))
	for i, u := range s.unhealthy {
		if i == maxNamed {
			fmt.Fprintf(&b, "%d more are in %s\n", len(s.unhealthy)-i, PageFile)
			break
		}
		fmt.Fprintf(&b, "not healthy: %s: %s\n", printable(u.Ref.String()), short(printable(u.Reason), 500))
	}
	fmt.Fprintf(&b, "\x1b[0Ksection_end:%d:ctrlplane_run\r\x1b[0K\n", now)
	if link != "" {
		fmt.Fprintf(&b, "report: %s\n", printable(link))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
