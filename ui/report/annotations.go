package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	maxAnnotations = 10 // of a level that GitHub shows of a step
	maxAnnotated   = 5  // last lines of the command in one
)

// annotation is a message that GitHub shows in the summary of a job. Its data is escaped.
type annotation struct{ place, title, data string }

// writeAnnotations writes GitHub Actions commands that annotate the job.
func (s *runSummary) writeAnnotations(w io.Writer) error {
	var b strings.Builder
	for _, level := range []struct {
		name string
		all  []annotation
	}{{"error", s.errorAnnotations()}, {"warning", s.warningAnnotations()}} {
		all := level.all
		if more := len(all) - maxAnnotations; more > 0 {
			all = append(all[:maxAnnotations-1], s.annotate("ctrlplane run", fmt.Sprintf("%d more: %s", more+1, seePage)))
		}
		for _, a := range all {
			fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", level.name, a.place, escapeProperty(a.title), a.data)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *runSummary) annotate(title, text string) annotation {
	return annotation{title: title + s.versionText(), data: escapeData(text)}
}

func (s *runSummary) errorAnnotations() (all []annotation) {
	if s.hasFailed() {
		all = append(all, s.failureAnnotations()...)
	}
	reason := s.reasonLine()
	for _, a := range s.failedAssertions() {
		if !strings.Contains(reason, words.OneLine(a.Failure)) { // the first annotation says it
			all = append(all, s.annotate("does not hold: "+a.Rule, a.Failure))
		}
	}
	for _, u := range s.unhealthy {
		all = append(all, s.annotate("not healthy: "+u.Object, u.Reason))
	}
	return all
}

// failureAnnotations returns one that says why the run has failed, or one for each error in manifests.
func (s *runSummary) failureAnnotations() (all []annotation) {
	title := "ctrlplane run " + s.resultText()
	var lines []string
	if s.Err != nil {
		lines = manifests.AllErrorLines(s.Err) // writeAnnotations counts those that are too many
	} else {
		all = append(all, s.annotate(title, s.commandNote()))
	}
	for i, line := range lines {
		line = words.OneLine(line)
		text := line
		if i == 0 {
			text = s.commandNote() + ": " + line
		}
		a := s.annotate(title, text)
		a.place = manifestPlace(line)
		all = append(all, a)
	}
	for _, line := range s.output.last(maxAnnotated) {
		all[0].data += "%0A" + escapeData(line)
	}
	return all
}

// warningAnnotations returns first what may be why the run has failed.
func (s *runSummary) warningAnnotations() (all []annotation) {
	for _, u := range s.deleted.named() {
		all = append(all, s.annotate("deleted while not healthy: "+u.Object, u.Reason))
	}
	for _, line := range s.warnings() {
		all = append(all, s.annotate("ctrlplane run", line))
	}
	return all
}

// inManifest matches the file and the line in an error about manifests.
var inManifest = regexp.MustCompile(`^(?:manifests: )?(.+?):([0-9]+): `)

// manifestPlace returns the properties with which GitHub shows an annotation in a file; empty if the error is not about a line
// of one. GitHub's runner finds the file in the repository by its absolute path, whatever the working folder is.
func manifestPlace(reason string) string {
	m := inManifest.FindStringSubmatch(reason)
	if m == nil {
		return ""
	}
	path, err := filepath.Abs(m[1])
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // such as what comes from stdin
		return ""
	}
	return fmt.Sprintf("file=%s,line=%s,", propertyEscapes.Replace(words.OneLine(path)), m[2])
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
