package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func timedOutOutcome() *Outcome {
	return &Outcome{
		Command: []string{"go", "test", "-run", "A B", "./..."}, Code: 124, Began: runStart, Took: 12345 * time.Millisecond,
		Err:    errors.New("the command was ended, because it took longer than 10s"),
		Stages: []Stage{{Name: StageCommand, Took: 10 * time.Second}, {Name: "stop", Took: time.Second}},
	}
}

func deploymentRef(name string) health.Ref {
	return health.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: name}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	err := writeJUnit(&b, timedOutOutcome(), nil, []testCase{
		{suite: "manifests", name: "Deployment shop/web", failure: "InProgress: Pod shop/web-1 fits on no node: <2 & \"3\""},
		{suite: "manifests", name: "Job gone", skipped: "the object no longer exists"},
		{suite: "namespace shop", name: "ConfigMap shop/c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/junit.xml.golden", b.Bytes())
}

// TestJUnitOfAFailedAssertion: the command has succeeded, and has a test case that says so.
func TestJUnitOfAFailedAssertion(t *testing.T) {
	o := &Outcome{Command: []string{"true"}, Code: AssertionCode, Err: errors.New("--healthy: 1 of 1 object is not healthy"), Began: runStart,
		Assertions: []assert.Result{{Rule: assert.Healthy, Failure: "1 of 1 object is not healthy"}}}
	for code, want := range map[int]int{AssertionCode: 1, 124: 2} {
		o.Code = code
		var b bytes.Buffer
		if err := writeJUnit(&b, o, nil, nil); err != nil {
			t.Fatal(err)
		}
		var read xmlSuites
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		if read.Tests != 2 || read.Failures != want || read.Suites[1].Failures != 1 || read.Suites[1].Cases[0].Name != "--healthy" {
			t.Errorf("exit code %d: %d failures of %d tests:\n%s", code, read.Failures, read.Tests, &b)
		}
	}
}

// TestJUnitTimes: the test cases have the times of the stages, and the whole file that of the run.
func TestJUnitTimes(t *testing.T) {
	o := &Outcome{Command: []string{"true"}, Began: runStart, Took: time.Minute, Assertions: []assert.Result{{Rule: assert.Settle}, {Rule: assert.Healthy}},
		Stages: []Stage{{Name: StageCommand, Took: 2 * time.Second}, {Name: StageSettling, Took: 3 * time.Second}, {Name: "stop", Took: time.Second}}}
	var b bytes.Buffer
	if err := writeJUnit(&b, o, nil, nil); err != nil {
		t.Fatal(err)
	}
	var read xmlSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	got := []string{read.Time}
	for _, s := range read.Suites {
		got = append(got, s.Name, s.Time)
		for _, c := range s.Cases {
			got = append(got, c.Name, c.Time)
		}
	}
	want := []string{"60.000", "command", "2.000", "true", "2.000", "assertions", "3.000", "--settle", "3.000", "--healthy", "0.000"}
	if !slices.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
}

// TestJUnitOfAWarning: what an assertion warns of is in its test case, which passes.
func TestJUnitOfAWarning(t *testing.T) {
	o := &Outcome{Command: []string{"true"}, Began: runStart, Assertions: []assert.Result{{Rule: assert.Settle, Warnings: hostileTexts}}}
	var b bytes.Buffer
	if err := writeJUnit(&b, o, nil, nil); err != nil {
		t.Fatal(err)
	}
	var read xmlSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Suites[1].Cases[0].Stderr; read.Failures != 0 || strings.Count(got, "\n") < len(hostileTexts)-1 || !strings.Contains(got, hostileTexts[0]) {
		t.Errorf("%d failures, stderr %q", read.Failures, got)
	}
}

// TestJUnitSaysWhatWasNotRun in the test case that claims most about the objects.
func TestJUnitSaysWhatWasNotRun(t *testing.T) {
	for want, assertions := range map[string][]assert.Result{
		"true":      {{Rule: "--no-hot-loop"}},
		"--settle":  {{Rule: assert.Settle}, {Rule: assert.Healthy, Skipped: "interrupted"}},
		"--healthy": {{Rule: assert.Settle}, {Rule: assert.Healthy}},
	} {
		o := &Outcome{Command: []string{"true"}, Began: runStart, Assertions: assertions, Simulated: "not run: a <b>"}
		var b bytes.Buffer
		if err := writeJUnit(&b, o, nil, []testCase{{suite: "cluster", name: "x"}}); err != nil {
			t.Fatal(err)
		}
		var read xmlSuites
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range read.Suites {
			for _, c := range s.Cases {
				if c.Stdout == o.Simulated {
					got = append(got, c.Name)
				}
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("it is in %q, want %q:\n%s", got, want, &b)
		}
	}
}

// TestJUnitEscapesHostileText parses junit.xml with hostile names.
func TestJUnitEscapesHostileText(t *testing.T) {
	var cases []testCase
	for _, text := range hostileTexts {
		cases = append(cases, testCase{suite: "namespace " + text, name: text, failure: text})
	}
	var b bytes.Buffer
	if err := writeJUnit(&b, &Outcome{Command: hostileTexts, Code: 1, Began: runStart}, excerpt{{Omitted: 1, Lines: hostileTexts}}, cases); err != nil {
		t.Fatal(err)
	}
	var read xmlSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Tests != len(hostileTexts)+1 || read.Failures != read.Tests || len(read.Suites) != read.Tests {
		t.Errorf("%d tests, %d failures, %d suites of %d", read.Tests, read.Failures, len(read.Suites), len(hostileTexts)+1)
	}
}

func TestSummary(t *testing.T) {
	s := &runSummary{
		Outcome: timedOutOutcome(), folder: "/home/you/out", numbers: []string{"12.35 s", "1,234 syncs", "2 conflicts"},
		unhealthy: []NotHealthy{{Object: deploymentRef("web").String(), Reason: "no node takes it | 2 * *bold* <b> `code`\nnext"}},
	}
	s.output = excerpt{{Lines: []string{"ok a"}}, {Omitted: 1200, Lines: []string{"    --- FAIL: x | *y* <b>", "", "```"}}}
	s.unhealthy[0].logs = []containerLog{{Title: "log of Pod shop/web-1", Short: excerpt{{Omitted: 3, Lines: []string{"</pre></details>", "", "# no db"}}}}, {Title: "log of *Pod*: empty"}}
	for i := range maxDeletedNamed + 1 {
		s.deleted.objects = append(s.deleted.objects, deletedObject{unhealthyObject: unhealthyObject{
			State: health.State{Ref: deploymentRef(fmt.Sprintf("test-%d", i)), Status: health.InProgress}, Reason: "no node takes it | 2 * *bold*, 100%",
		}})
	}
	for range maxNamed + 1 {
		s.unhealthy = append(s.unhealthy, NotHealthy{Object: deploymentRef("other, 100%: more").String(), Reason: "why"})
	}
	warned := &runSummary{Outcome: &Outcome{Command: []string{"true"}, Assertions: []assert.Result{{Rule: assert.Settle}}, Simulated: "simulated, not run: Job a/b (x *y*, 100%)"}, folder: "/out", numbers: []string{"1 s"}}
	for i := range maxNamed + 1 {
		warned.Assertions[0].Warnings = append(warned.Assertions[0].Warnings, fmt.Sprintf("settled, but op/c%d does not run: *why*, 100%%", i))
	}
	for name, write := range map[string]func(io.Writer) error{
		"warned.md":     markdownOf(warned),
		"warned.github": warned.writeAnnotations,
		"warned.gitlab": func(w io.Writer) error { return warned.writeSection(w, 1, "") },

		"summary.md": markdownOf(s),
		"github.log": s.writeAnnotations,
		"gitlab.log": func(w io.Writer) error { return s.writeSection(w, 1782907200, "https://gitlab.example.com/x") },
		"passed.md":  markdownOf(&runSummary{Outcome: &Outcome{Command: []string{"true"}}, folder: "/out", numbers: []string{"1 s"}}),
		"passed.gitlab": func(w io.Writer) error {
			return (&runSummary{Outcome: &Outcome{Command: []string{"true"}}}).writeSection(w, 1, "")
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, "testdata/"+name+".golden", b.Bytes())
	}
}

// TestNamesAreNotCICommands checks that hostile names add no commands of CI services.
func TestNamesAreNotCICommands(t *testing.T) {
	for _, text := range append(hostileTexts, "x\n::error::y", "x\r\x1b[0Ksection_end:1:ctrlplane_run\r", "\u2066x") {
		s := &runSummary{
			Outcome: &Outcome{Command: []string{text}, Code: 125, Err: errors.New(text), Simulated: text, Assertions: []assert.Result{{Rule: assert.Settle, Warnings: []string{text}}}}, folder: "/" + text,
			unhealthy: []NotHealthy{{Object: deploymentRef(text).String(), Reason: text, logs: []containerLog{{Title: text, Short: excerpt{{Omitted: 1, Lines: []string{text}}}}}}},
			output:    excerpt{{Omitted: 1, Lines: []string{text, text}}},
			deleted:   Deleted{objects: []deletedObject{{unhealthyObject: unhealthyObject{State: health.State{Ref: deploymentRef(text)}, Reason: text}}}},
		}
		var actions, job, page bytes.Buffer
		if err := errors.Join(s.writeAnnotations(&actions), s.writeSection(&job, 1, text), s.writeMarkdown(&page, 0)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(actions.String(), "\n"); n != 4 {
			t.Errorf("%q gives %d lines of annotations", text, n)
		}
		if n := strings.Count(job.String(), "\x1b"); n != 4 {
			t.Errorf("%q gives %d escapes in a job log", text, n)
		}
		for _, r := range page.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%q gives %q in Markdown", text, r)
			}
		}
		if strings.Contains(page.String(), "<script") || strings.Contains(page.String(), "<img") {
			t.Errorf("%q gives markup in Markdown: %s", text, &page)
		}
	}
}

func TestPublishToCI(t *testing.T) {
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "summary.md"), "before\n")
	project := t.TempDir()
	s := &runSummary{Outcome: timedOutOutcome(), folder: filepath.Join(project, "a b", "out")}
	tell := func(env map[string]string) string {
		t.Helper()
		var log bytes.Buffer
		if err := s.publishToCI(&log, func(name string) string { return env[name] }); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if got := tell(nil); got != "" {
		t.Errorf("without a CI service: %q", got)
	}
	if got := tell(map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": file}); !strings.HasPrefix(got, "::error title=ctrlplane run timed out::") {
		t.Errorf("on GitHub: %q", got)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(data), "before\n### ctrlplane run: timed out\n") {
		t.Errorf("summary: %q, %v", data, err)
	}
	env := map[string]string{"GITLAB_CI": "true", "CI_PROJECT_DIR": project, "CI_JOB_URL": "https://gitlab.example.com/g/p/-/jobs/7"}
	if got, want := tell(env), "report: https://gitlab.example.com/g/p/-/jobs/7/artifacts/file/a%20b/out/report.html\n"; !strings.HasSuffix(got, want) {
		t.Errorf("on GitLab: %q, want %q at the end", got, want)
	}
	env["CI_PROJECT_DIR"] = t.TempDir()
	if got := tell(env); strings.Contains(got, "artifacts") {
		t.Errorf("link to a folder outside the project: %q", got)
	}
	if err := s.publishToCI(io.Discard, func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": project}[name] }); err == nil {
		t.Error("no error for an unwritable summary")
	}
}

func TestObjectsWithControlCharacters(t *testing.T) {
	const value = "\u007f\u0085\u009b31m\x1b[2J"
	config := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": value}}}
	var b bytes.Buffer
	if err := writeObjects(&b, []unstructured.Unstructured{config}, nil); err != nil {
		t.Fatal(err)
	}
	read := parseObject(t, b.String())
	if got, _, _ := unstructured.NestedString(read.Object, "data", "a"); got != value {
		t.Errorf("%q is read as %q", b.String(), got)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	secret := parseObject(t, `
apiVersion: v1
kind: Secret
metadata:
  namespace: shop
  name: s
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"aHVudGVyMg=="}}', keep: this}
type: Opaque
data: {password: aHVudGVyMg==, odd: "not base64!", empty: ""}
stringData: {password: hunter2}`)
	config := parseObject(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, managedFields: [{manager: m}]}, data: {a: \"\\u0007</script>\\u202e\"}}")
	odd := parseObject(t, "{apiVersion: v1, kind: Secret, metadata: {name: odd}, data: hunter2}")
	var b bytes.Buffer
	if err := writeObjects(&b, []unstructured.Unstructured{secret, config, odd}, errors.New("list widgets: no\nanswer")); err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, "testdata/objects.yaml.golden", b.Bytes())
	for _, value := range []string{"hunter2", "aHVudGVyMg", "not base64"} {
		if strings.Contains(b.String(), value) {
			t.Errorf("the value %s is not masked", value)
		}
	}
	if secret.GetManagedFields() == nil && secret.Object["stringData"] == nil {
		t.Error("writeObjects modified the object")
	}
	path := testutil.WriteFile(t, filepath.Join(t.TempDir(), ObjectsFile), b.Bytes())
	loaded, err := manifests.Load(t.Context(), []string{path})
	if err != nil || len(loaded) != 3 {
		t.Errorf("%d objects loaded: %v", len(loaded), err)
	}
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		o    Outcome
		want string
	}{
		{Outcome{}, "passed"},
		{Outcome{Code: 3}, "failed with exit code 3"},
		{Outcome{Code: 124}, "failed with exit code 124"},
		{Outcome{Code: 124, Err: errors.New("x")}, "timed out"},
		{Outcome{Code: 130, Err: errors.New("x"), Interrupted: "SIGINT"}, "interrupted by SIGINT"},
		{Outcome{Code: 123, Err: errors.New("x"), Interrupted: "SIGINT"}, "interrupted by SIGINT"},
		{Outcome{Code: 143}, "failed with exit code 143"},
		{Outcome{Code: 255}, "failed with exit code 255"},
		{Outcome{Code: 127, Err: errors.New("x")}, "failed with exit code 127"},
	} {
		if got := tc.o.resultText(); got != tc.want {
			t.Errorf("%d, %v: %q, want %q", tc.o.Code, tc.o.Err, got, tc.want)
		}
	}
	o := Outcome{Command: []string{"sh", "-c", "echo 'a' $B", ""}}
	if got, want := o.commandLine(), `sh -c 'echo '\''a'\'' $B' ''`; got != want {
		t.Errorf("command %s, want %s", got, want)
	}
}

// TestJobSummaryOfManyRuns: GitHub refuses the summary of a job that is longer than 1 MiB, and each version of Kubernetes adds to it.
func TestJobSummaryOfManyRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	long := containerLog{Title: "log of Pod shop/web-1", Short: excerpt{{Lines: slices.Repeat([]string{strings.Repeat("<", maxShortLine)}, maxShortLines)}}}
	s := &runSummary{Outcome: &Outcome{Command: []string{"true"}, Code: 1, Began: runStart}, folder: "out"}
	for range maxNamed {
		s.unhealthy = append(s.unhealthy, NotHealthy{Object: "Pod shop/web-1", Reason: "down", logs: []containerLog{long, long}})
	}
	const runs = 30
	for i := range runs {
		before := fileSize(t, file)
		if err := s.appendToFile(file); err != nil {
			t.Fatal(err)
		}
		if grown := fileSize(t, file) - before; i == 0 && (grown < maxSummaryLogs/2 || grown > maxSummaryLogs+8<<10) {
			t.Errorf("one run adds %d bytes", grown)
		}
	}
	text := testutil.ReadFile(t, file)
	if len(text) >= 1<<20 || len(text) < maxJobSummary/2 || strings.Count(text, "The report is in") != runs || strings.Count(text, "\nMore logs: see report.html\n") != runs {
		t.Errorf("%d bytes, %d summaries, %d without some logs", len(text), strings.Count(text, "The report is in"), strings.Count(text, "\nMore logs: "))
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func markdownOf(s *runSummary) func(io.Writer) error {
	return func(w io.Writer) error { return s.writeMarkdown(w, 0) }
}
