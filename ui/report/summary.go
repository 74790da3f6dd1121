package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// maxNamed is how many unhealthy objects a summary names, and how many warnings.
const maxNamed = 10

// runSummary is the summary of a run for CI services.
type runSummary struct {
	*Outcome
	numbers   []string
	unhealthy []NotHealthy
	deleted   Deleted // while not healthy, if the run has failed
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
		lines = append(lines[:maxNamed], fmt.Sprintf("%s: see %s", words.Count(more, "more warning"), PageFile))
	}
	return lines
}

// writeMarkdown writes the summary for a GitHub job summary.
func (s *runSummary) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### ctrlplane run: %s\n\n", s.resultText()+s.versionText())
	fmt.Fprintf(&b, "<code>%s</code>\n\n", escapeMarkdown(s.commandNote()))
	for _, line := range s.reasonLines() {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown(line))
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(s.numbers, " · "))
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

// escapeMarkdown escapes text for Markdown.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range truncateText(words.OneLine(text), 500) {
		if r < 128 && strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&@:\"'$", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// writeAnnotations writes GitHub Actions commands that annotate the job.
func (s *runSummary) writeAnnotations(w io.Writer) error {
	var b strings.Builder
	if s.hasFailed() {
		fmt.Fprintf(&b, "::error title=%s::%s\n", escapeProperty("ctrlplane run "+s.resultText()+s.versionText()), escapeData(strings.TrimSuffix(s.commandNote()+": "+s.reasonLine(), ": ")))
	}
	for _, line := range s.namedWarnings() {
		fmt.Fprintf(&b, "::warning title=%s::%s\n", escapeProperty("ctrlplane run"+s.versionText()), escapeData(line))
	}
	for _, a := range s.failedAssertions() {
		fmt.Fprintf(&b, "::error title=%s::%s\n", escapeProperty("does not hold: "+a.Rule+s.versionText()), escapeData(a.Failure))
	}
	for _, l := range s.objectLists() {
		for _, u := range l.objects {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", l.level, escapeProperty(l.title+": "+u.Object+s.versionText()), escapeData(u.Reason))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25")
	propertyEscapes = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

func escapeData(text string) string {
	return dataEscapes.Replace(truncateText(words.OneLine(text), 1000))
}
func escapeProperty(text string) string {
	return propertyEscapes.Replace(truncateText(words.OneLine(text), 200))
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
