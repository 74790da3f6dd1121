package report

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// refusedOutcome is that of a run whose manifests have two errors.
func refusedOutcome(t *testing.T) Outcome {
	t.Helper()
	_, err := manifests.LoadTexts([]manifests.Text{{Name: "a.yaml", Data: []byte("1\n---\n2\n")}})
	if err == nil {
		t.Fatal("no error")
	}
	return Outcome{
		Command: []string{"go", "test"}, Code: 125, Err: err, Began: runStart, Took: time.Second, NotRun: StartManifests,
		Assertions: []assert.Result{{Rule: assert.Settle, Skipped: "the command was not run"}},
	}
}

func readJUnit(t *testing.T, dir string) (read xmlSuites) {
	t.Helper()
	if err := xml.Unmarshal([]byte(testutil.ReadFile(t, filepath.Join(dir, JUnitFile))), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestCommandThatWasNotRun: what has failed has a test case of its own, and what is unknown is not 0.
func TestCommandThatWasNotRun(t *testing.T) {
	dir := writeReport(t, newFakeJournal(), &State{}, refusedOutcome(t))
	read := readJUnit(t, dir)
	if read.Tests != 3 || read.Failures != 1 {
		t.Fatalf("%d failures of %d tests: %+v", read.Failures, read.Tests, read)
	}
	command, start, settle := read.Suites[0].Cases[0], read.Suites[1].Cases[0], read.Suites[2].Cases[0]
	if command.Name != "go test" || command.Skipped == nil || command.Failure != nil {
		t.Errorf("the command: %+v", command)
	}
	if start.Name != StartManifests || start.Failure == nil || strings.Contains(start.Failure.Message, "a.yaml:3") ||
		!strings.Contains(start.Failure.Text, "a.yaml:1: ") || !strings.Contains(start.Failure.Text, "\nmanifests: a.yaml:3: ") {
		t.Errorf("the start: %+v", start.Failure)
	}
	if settle.Name != assert.Settle || settle.Skipped == nil {
		t.Errorf("--settle: %+v", settle)
	}
	page := testutil.ReadFile(t, filepath.Join(dir, PageFile))
	for _, want := range []string{"The command was not run.", "<b>unknown</b> number of objects", "manifests: a.yaml:1: ", ">skipped<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "</b> not healthy") {
		t.Error("the page says how many objects are not healthy, which is unknown")
	}
	if objects := testutil.ReadFile(t, filepath.Join(dir, ObjectsFile)); objects != "# The objects were not read.\n" {
		t.Errorf("%s: %q", ObjectsFile, objects)
	}
}

// TestUnhealthyAfterARefusal: objects that had no time to become healthy, and those that were not applied, do not fail.
func TestUnhealthyAfterARefusal(t *testing.T) {
	newState := func() *State {
		return &State{
			objects:   []unstructured.Unstructured{{Object: map[string]any{"kind": "Deployment"}}},
			unhealthy: []unhealthyObject{{State: health.State{Ref: deploymentRef("new")}, Judged: true}},
			cases: []testCase{
				{suite: manifestSuite, name: "new", failure: "InProgress: Replicas: 0/1"},
				{suite: manifestSuite, name: "refused", failure: "no longer exists", details: "x", gone: deploymentRef("refused")},
				{suite: manifestSuite, name: "good"},
			},
		}
	}
	bare := newState()
	bare.SkipUnhealthy(false)
	if got := bare.cases[1].skipped; got != "not judged: no longer exists" {
		t.Errorf("without a refusal: %q", got)
	}
	s := newState()
	s.SkipUnhealthy(true)
	dir := writeReport(t, newFakeJournal(), s, refusedOutcome(t))
	read := readJUnit(t, dir)
	suite := read.Suites[len(read.Suites)-1]
	if suite.Name != manifestSuite || suite.Failures != 0 || suite.Skipped != 2 {
		t.Fatalf("got %+v", suite)
	}
	if got := suite.Cases[0].Skipped.Message + "; " + suite.Cases[1].Skipped.Message; got != "not judged: InProgress: Replicas: 0/1; not applied" {
		t.Errorf("got %q", got)
	}
	page := testutil.ReadFile(t, filepath.Join(dir, PageFile))
	if !strings.Contains(page, ", not judged") || strings.Contains(page, "</b> not healthy") {
		t.Error("the page judges the objects")
	}
}
