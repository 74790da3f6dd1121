package report

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func annotationsOf(t *testing.T, s *runSummary) (failures, warnings []string) {
	t.Helper()
	var b bytes.Buffer
	if err := s.writeAnnotations(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "::error ") {
			failures = append(failures, line)
		} else {
			warnings = append(warnings, line)
		}
	}
	return failures, warnings
}

// TestAnnotationsFit: GitHub shows 10 of a level, and none of them repeats another.
func TestAnnotationsFit(t *testing.T) {
	const failure = "60 of 60 objects are not healthy"
	s := &runSummary{Outcome: &Outcome{Command: []string{"true"}, Code: AssertionCode, Err: errors.New("--healthy: " + failure), Assertions: []assert.Result{
		{Rule: assert.Settle, Warnings: make([]string, 2*maxAnnotations)}, {Rule: assert.Healthy, Failure: failure},
	}}}
	for i := range 60 {
		s.unhealthy = append(s.unhealthy, NotHealthy{Object: fmt.Sprintf("Deployment shop/bad%d", i), Reason: "why"})
	}
	failures, warnings := annotationsOf(t, s)
	if len(failures) != maxAnnotations || !strings.Contains(failures[1], "bad0") || !strings.HasSuffix(failures[9], "::52 more: see report.html") {
		t.Errorf("errors:\n%s", strings.Join(failures, "\n"))
	}
	if len(warnings) != maxAnnotations || !strings.HasSuffix(warnings[9], "::11 more: see report.html") {
		t.Errorf("warnings:\n%s", strings.Join(warnings, "\n"))
	}
}

// TestAnnotationsCountManifests: errors of manifests that stderr does not name count one by one, and junit.xml and the page name
// them.
func TestAnnotationsCountManifests(t *testing.T) {
	var texts []manifests.Text
	for i := range 15 {
		texts = append(texts, manifests.Text{Name: fmt.Sprintf("text %d", i), Data: []byte("1\n")})
	}
	_, err := manifests.LoadAll(t.Context(), nil, texts)
	o := &Outcome{Command: []string{"true"}, Code: 125, Err: err, NotRun: StartManifests}
	failures, _ := annotationsOf(t, &runSummary{Outcome: o})
	if len(failures) != maxAnnotations || !strings.Contains(failures[8], "text 8") || !strings.HasSuffix(failures[9], "::6 more: see report.html") {
		t.Errorf("got\n%s", strings.Join(failures, "\n"))
	}
	var junit bytes.Buffer
	if err := writeJUnit(&junit, o, nil, nil); err != nil || !strings.Contains(junit.String(), "text 14") {
		t.Errorf("%v\n%s", err, &junit)
	}
}

// TestAnnotationInAManifest: GitHub shows an error with a file and a line in the diff.
func TestAnnotationInAManifest(t *testing.T) {
	path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "a, b.yaml"), "x")
	place := "::error file=" + strings.ReplaceAll(strings.ReplaceAll(path, ":", "%3A"), ",", "%2C") + ",line=7,title="
	for text, want := range map[string]string{
		"manifests: " + path + ":7: unknown field":    place,
		"manifests: " + path + "x:7: unknown field":   "::error title=",
		"manifests: stdin:7: unknown field":           "::error title=",
		"not settled: " + path + ":7: unknown field":  "::error title=",
		"manifests: " + path + ": no document: empty": "::error title=",
	} {
		s := &runSummary{Outcome: &Outcome{Command: []string{"true"}, Code: 125, Err: errors.New(text)}}
		if got, _ := annotationsOf(t, s); !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %s, want %s", text, got[0], want)
		}
	}
}
