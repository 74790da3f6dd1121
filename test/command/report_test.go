//go:build unix

package command_test

import (
	"bufio"
	"encoding/xml"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

var reportFiles = []string{"ctrlplane.log", "events.jsonl", "junit.xml", "objects.yaml", "output.log", "report.html"}

// readReport returns the files of a report by name. There must be no others.
func readReport(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := testutil.ReadFiles(t, dir)
	names := slices.Sorted(maps.Keys(files))
	if !slices.Equal(names, reportFiles) {
		t.Errorf("the report has %q, want %q", names, reportFiles)
	}
	return files
}

// withoutCIEnv removes the variables of CI services.
func withoutCIEnv(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "GITHUB_") || strings.HasPrefix(v, "GITLAB_") || strings.HasPrefix(v, "CI_")
	})
}

const shopManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Secret
metadata: {name: pw, namespace: shop}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: odd, namespace: shop}
data: {odd: "\x7f\x9b31m"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: big, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1000"}}}]}
`

func TestRunReport(t *testing.T) {
	t.Parallel()
	cmd := newRunCommand(t, "--report", "out", "-f", "shop.yaml", "--", "sh", "-c",
		`until "$0" kubectl -n shop wait pods -l app=big --for=condition=PodScheduled=false --timeout=60s >/dev/null 2>&1; do :; done; echo done; exit 3`, program.Path())
	testutil.WriteFile(t, filepath.Join(cmd.Dir, "shop.yaml"), shopManifest)
	summary := filepath.Join(t.TempDir(), "summary.md")
	cmd.Env = append(withoutCIEnv(cmd.Env), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary)
	stdout, stderr, code := program.Run(t, cmd)
	if code != 3 || stdout != "done\n" {
		t.Errorf("exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	requireNothingLeft(t, cmd)
	files := readReport(t, filepath.Join(cmd.Dir, "out"))
	requireAllRecords(t, files["events.jsonl"])

	for name, text := range files {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("%s contains the value of a Secret", name)
		}
	}
	for name, want := range map[string]string{
		"report.html":   "Deployment shop/big",
		"objects.yaml":  `odd: "\x7F\x9B31m"`,
		"ctrlplane.log": "closed etcd server",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s does not contain %q", name, want)
		}
	}
	objects, err := manifests.Load(t.Context(), []string{filepath.Join(cmd.Dir, "out", "objects.yaml")})
	if err != nil || len(objects) < 100 {
		t.Errorf("objects.yaml has %d objects: %v", len(objects), err)
	}
	for _, failure := range []string{"failed with exit code 3", "Insufficient cpu"} {
		if !slices.ContainsFunc(junitFailures(t, files["junit.xml"]), func(m string) bool { return strings.Contains(m, failure) }) {
			t.Errorf("junit.xml does not contain %q: %s", failure, files["junit.xml"])
		}
	}
	if !strings.Contains(stderr, "ctrlplane: failed with exit code 3 after ") || !strings.Contains(stderr, "; the report is ") {
		t.Errorf("no result: %s", stderr)
	}
	if !strings.Contains(stderr, "::error title=ctrlplane run failed with exit code 3::") {
		t.Errorf("no annotation: %s", stderr)
	}
	if data, err := os.ReadFile(summary); err != nil || !strings.Contains(string(data), "| Deployment shop/big |") {
		t.Errorf("summary: %s, %v", data, err)
	}
}

// requireAllRecords checks that no record is missing.
func requireAllRecords(t *testing.T, text string) {
	t.Helper()
	last, missed := uint64(0), uint64(0)
	kinds := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Seq, Missed uint64
			Kind        string
		}
		testutil.DecodeJSON(t, lines.Bytes(), &r)
		missed += r.Missed
		kinds[r.Kind]++
		if r.Seq > 0 {
			if r.Seq <= last {
				t.Fatalf("record %d after %d", r.Seq, last)
			}
			last = r.Seq
		}
	}
	records := uint64(0)
	for _, kind := range []string{"bootStep", "controllerChanged", "queueChanged", "delivered", "called", "synced", "logged"} {
		records += uint64(kinds[kind])
		if kinds[kind] == 0 && kind != "queueChanged" { // recorded once a second
			t.Errorf("no record of kind %s", kind)
		}
	}
	if records+missed != last || missed > 0 {
		t.Errorf("%d records and %d missed, the last has number %d", records, missed, last)
	}
}

// junitFailures returns the failure messages in junit.xml.
func junitFailures(t *testing.T, text string) (messages []string) {
	t.Helper()
	var junit struct {
		Suites []struct {
			Cases []struct {
				Failure struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &junit); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, s := range junit.Suites {
		for _, c := range s.Cases {
			messages = append(messages, c.Failure.Message)
		}
	}
	return messages
}

// TestRunReportOfEveryOutcome runs commands that end in other ways: each leaves a report.
func TestRunReportOfEveryOutcome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string // in the page
	}{
		{"timed out", []string{"--timeout", "300ms", "--", "sleep", "60"}, 124, "timed out"},
		{"not found", []string{"--", "no-such-command"}, 127, "cannot run"},
		{"no control plane", []string{"--bind-address", "192.0.2.1", "--", "true"}, 125, "192.0.2.1"},
		{"with a name", []string{"--name", "kept", "--", "true"}, 0, "passed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := newRunCommand(t, minimal(append([]string{"--report", "out"}, tc.args...)...)...)
			cmd.Env = withoutCIEnv(cmd.Env)
			_, stderr, code := program.Run(t, cmd)
			if code != tc.code {
				t.Errorf("exit code %d, want %d: %s", code, tc.code, stderr)
			}
			if tc.code == 124 {
				requireLastLine(t, stderr, "terminated after 300ms")
			}
			requireNothingLeft(t, cmd)
			if page := readReport(t, filepath.Join(cmd.Dir, "out"))["report.html"]; !strings.Contains(page, tc.says) {
				t.Errorf("the page does not contain %q", tc.says)
			}
		})
	}
}

func TestRunReportAfterInterrupt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"starting", "running"} {
		t.Run(name, func(t *testing.T) {
			start, args := startRun, minimal("--report", "out", "--", "sh", "-c", "echo $$; exec sleep 1000")
			if name == "starting" {
				start = startHangingRun
			}
			r := start(t, args...)
			pid := ""
			if name == "running" {
				pid = r.readLine(t)
			}
			r.sendSignal(t, syscall.SIGINT)
			r.requireExit(t, 130)
			r.requireNoMoreOutput(t)
			if pid != "" && processAlive(t, pid) {
				t.Errorf("process %s still runs", pid)
			}
			page := readReport(t, filepath.Join(r.cmd.Dir, "out"))["report.html"]
			if want := "interrupted by SIGINT"; !strings.Contains(page, want) {
				t.Errorf("the page does not contain %q", want)
			}
		})
	}
}

// TestSignalsWhileTheReportIsWritten has a run wait for a reader of its summary: the first signal
// ends that in limited time, a second one at once.
func TestSignalsWhileTheReportIsWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signals []syscall.Signal
		code    int
		says    string
	}{
		"one": {[]syscall.Signal{syscall.SIGINT}, 130, "10s after a signal"},
		"two": {[]syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 143, "a second signal ended ctrlplane before the report was complete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary := filepath.Join(t.TempDir(), "summary")
			if err := syscall.Mkfifo(summary, 0o600); err != nil {
				t.Fatal(err)
			}
			r := startRunWith(t, []string{"GITHUB_STEP_SUMMARY=" + summary}, minimal("--report", "out", "--", "true")...)
			out := filepath.Join(r.cmd.Dir, "out")
			testutil.Await(t, "all files", func() bool {
				entries, err := os.ReadDir(out)
				return err == nil && slices.EqualFunc(entries, reportFiles, func(e os.DirEntry, name string) bool { return e.Name() == name })
			})
			for i, sig := range tt.signals {
				if i == 0 {
					r.sendSignal(t, sig)
					continue
				}
				testutil.Await(t, "end upon what counts as a second signal", func() bool { return r.cmd.Process.Signal(sig) != nil })
			}
			r.requireExit(t, tt.code)
			requireLastLine(t, r.stderr.String(), tt.says)
			if files := readReport(t, out); !strings.HasSuffix(files["report.html"], "</html>\n") {
				t.Error("the page is not complete")
			}
		})
	}
}

// TestThirdSignalKeepsTheReason ends a run at once that is ending because its command has ignored two signals.
func TestThirdSignalKeepsTheReason(t *testing.T) {
	t.Parallel()
	summary := filepath.Join(t.TempDir(), "summary") // without a reader the report is not completed
	if err := syscall.Mkfifo(summary, 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRunWith(t, []string{"GITHUB_STEP_SUMMARY=" + summary},
		minimal("--report", "out", "--", "sh", "-c", "trap 'echo cleaning' INT TERM; echo begun; while :; do sleep 0.2; done")...)
	r.readLine(t)
	r.sendSignal(t, syscall.SIGINT)
	r.readLine(t)
	testutil.Await(t, "end upon the third signal", func() bool { return r.cmd.Process.Signal(syscall.SIGTERM) != nil })
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	requireLastLine(t, r.stderr.String(), "the command was killed: it has ignored two signals; a second signal ended ctrlplane before the report was complete")
}

func TestRunReportErrors(t *testing.T) {
	t.Parallel()
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), "")
	program.RequireFailure(t, newRunCommand(t, "--report", file, "--", "true"), 125, "--report", file, "use another folder")
	program.RequireFailure(t, newRunCommand(t, "--report", filepath.Join(file, "out"), "--", "true"), 125, "not a directory")
}
