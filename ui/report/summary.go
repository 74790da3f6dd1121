package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxNamed       = 10        // unhealthy objects, and warnings, that a summary names
	maxCell        = 4000      // runes of a text in a job summary; a refusal by PodSecurity has 540
	maxSummaryLogs = 64 << 10  // bytes of logs of a run in a job summary
	maxJobSummary  = 900 << 10 // bytes of it beyond which it has no logs; GitHub refuses one of more than 1 MiB

	seePage   = "see " + PageFile
	seeOutput = "see " + OutputFile
)

// runSummary is the summary of a run for CI services.
type runSummary struct {
	*Outcome
	numbers   []string
	unhealthy []NotHealthy
	deleted   Deleted // while not healthy, if the run has failed
	output    excerpt // of what the command printed, if it has failed
	folder    string
}

// objectList is a list of objects in a summary.
type objectList struct {
	title   string // begins with a small letter
	level   string // of annotations
	objects []NotHealthy
	more    int // that are not named
}

func (s *runSummary) objectLists() []objectList {
	named := s.unhealthy[:min(len(s.unhealthy), maxNamed)]
	deleted := s.deleted.named()
	return []objectList{
		{"not healthy", "error", named, len(s.unhealthy) - len(named)},
		{"deleted while not healthy", "warning", deleted, s.deleted.Count() - len(deleted)},
	}
}

// versionText tells the run from others with different versions of Kubernetes.
func (s *runSummary) versionText() string {
	if s.Kubernetes == "" {
		return ""
	}
	return " (Kubernetes " + s.Kubernetes + ")"
}

func (s *runSummary) failedAssertions() []assert.Result {
	return slices.DeleteFunc(slices.Clone(s.Assertions), func(a assert.Result) bool { return a.Failure == "" })
}

// namedWarnings returns the warnings, and how many more there are.
func (s *runSummary) namedWarnings() []string {
	lines := s.warnings()
	if more := len(lines) - maxNamed; more > 0 {
		lines = append(lines[:maxNamed], words.Count(more, "more warning")+": "+seePage)
	}
	return lines
}

// writeMarkdown writes the summary for a GitHub job summary, which has some bytes of earlier steps and runs.
func (s *runSummary) writeMarkdown(w io.Writer, earlier int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### ctrlplane run: %s\n\n", s.resultText()+s.versionText())
	fmt.Fprintf(&b, "<code>%s</code>\n\n", escapeMarkdown(s.commandNote()))
	for _, line := range s.reasonLines() {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(line))
	}
	if lines := s.output.text(seeOutput); len(lines) > 0 {
		writePreformatted(&b, lines)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(s.numbers, " · "))
	if s.Simulated != "" {
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(s.Simulated))
	}
	if warnings := s.namedWarnings(); len(warnings) > 0 {
		fmt.Fprintln(&b)
		for _, line := range warnings {
			fmt.Fprintf(&b, "- %s\n", escapeMarkdown(line))
		}
	}
	if failed := s.failedAssertions(); len(failed) > 0 {
		b.WriteString("\n| Assertion | Why it does not hold |\n| --- | --- |\n")
		for _, a := range failed {
			fmt.Fprintf(&b, "| %s | %s |\n", escapeMarkdown(a.Rule), escapeMarkdown(a.Failure))
		}
	}
	for _, l := range s.objectLists() {
		l.writeTable(&b)
	}
	s.writeLogs(&b, min(maxSummaryLogs, maxJobSummary-earlier-b.Len()))
	fmt.Fprintf(&b, "\nThe report is in <code>%s</code>.\n\n", escapeMarkdown(s.folder))
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *objectList) writeTable(b *strings.Builder) {
	if len(l.objects) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s%s | Why |\n| --- | --- |\n", strings.ToUpper(l.title[:1]), l.title[1:])
	for _, u := range l.objects {
		fmt.Fprintf(b, "| %s | %s |\n", escapeMarkdown(u.Object), escapeMarkdown(u.Reason))
	}
	if l.more > 0 {
		fmt.Fprintf(b, "| … | %d more: see %s |\n", l.more, PageFile)
	}
}

// writeLogs writes the ends of the logs of the objects that are named, at most limit bytes of them.
func (s *runSummary) writeLogs(b *strings.Builder, limit int) {
	for _, u := range slices.Concat(s.unhealthy[:min(len(s.unhealthy), maxNamed)], s.deleted.named()) {
		for _, log := range u.logs {
			text := log.markdown()
			if limit -= len(text); limit < 0 {
				fmt.Fprintf(b, "\nMore logs: %s\n", seePage)
				return
			}
			b.WriteString(text)
		}
	}
}

func (l *containerLog) markdown() string {
	lines := l.Short.text(seePage)
	if len(lines) == 0 { // it has none, or cannot be read, which the title says
		return fmt.Sprintf("\n%s\n", escapeMarkdown(l.Title))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n", escapeMarkdown(l.Title))
	writePreformatted(&b, lines)
	b.WriteString("\n</details>\n")
	return b.String()
}

// writePreformatted writes lines as they are. Markdown ends such a block of HTML only at its end tag, not at an empty line.
func writePreformatted(b *strings.Builder, lines []string) {
	b.WriteString("<pre>\n")
	for _, line := range lines {
		escapeRunes(b, words.StripControls(line))
		b.WriteString("\n")
	}
	b.WriteString("</pre>\n")
}

// escapeMarkdown escapes text for Markdown.
func escapeMarkdown(text string) string {
	var b strings.Builder
	escapeRunes(&b, truncateText(words.OneLine(text), maxCell))
	return b.String()
}

func escapeRunes(b *strings.Builder, text string) {
	for _, r := range text {
		if r < 128 && strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&@:\"'$", r) {
			fmt.Fprintf(b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
}

// writeSection writes the summary as a collapsible section of a GitLab job log.
// now is in Unix seconds.
func (s *runSummary) writeSection(w io.Writer, now int64, link string) error {
	var b strings.Builder
	folded := "[collapsed=true]"
	if s.hasFailed() || len(s.unhealthy) > 0 || len(s.warnings()) > 0 {
		folded = ""
	}
	name := "ctrlplane_run" // unique in the job
	if s.Kubernetes != "" {
		name += "_" + s.Kubernetes
	}
	fmt.Fprintf(&b, "\x1b[0Ksection_start:%d:%s%s\r\x1b[0Kctrlplane run: %s\n", now, name, folded, s.resultText()+s.versionText())
	fmt.Fprintf(&b, "%s\n", truncateText(words.OneLine(s.commandNote()), 500))
	for _, line := range s.reasonLines() {
		fmt.Fprintf(&b, "%s\n", truncateText(line, 500))
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(s.numbers, ", "))
	if s.Simulated != "" {
		fmt.Fprintf(&b, "%s\n", truncateText(words.OneLine(s.Simulated), 500))
	}
	for _, line := range s.namedWarnings() {
		fmt.Fprintf(&b, "%s\n", truncateText(words.OneLine(line), 500))
	}
	for _, a := range s.failedAssertions() {
		fmt.Fprintf(&b, "does not hold: %s: %s\n", words.OneLine(a.Rule), truncateText(words.OneLine(a.Failure), 500))
	}
	for _, l := range s.objectLists() {
		for _, u := range l.objects {
			fmt.Fprintf(&b, "%s: %s: %s\n", l.title, words.OneLine(u.Object), truncateText(words.OneLine(u.Reason), 500))
		}
		if l.more > 0 {
			fmt.Fprintf(&b, "%d more: see %s\n", l.more, PageFile)
		}
	}
	fmt.Fprintf(&b, "\x1b[0Ksection_end:%d:%s\r\x1b[0K\n", now, name)
	if link != "" {
		fmt.Fprintf(&b, "report: %s\n", words.OneLine(link))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
