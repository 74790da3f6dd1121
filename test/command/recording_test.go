package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/ui"
)

// TestRecording compares what a recording tells with what the control plane told at that
// time, and then does without the control plane.
func TestRecording(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "recording.jsonl")
	p := program.Up(t, t.TempDir(), "--record", file)
	web, pod := program.CreateWeb(t, p.Dir, 2), ""
	p.Await(t, "running Pods", func() bool {
		list, err := p.Client(t).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err == nil && len(list.Items) == 2 {
			pod = "pod/" + list.Items[0].Name
		}
		return pod != ""
	})
	live := func(args ...string) string { t.Helper(); return program.MustRun(t, p.Dir, args...) }
	recorded := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := program.Run(t, program.Command(t, args...))
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
		return stdout
	}
	program.WaitSettled(t, p.Dir)
	var moment string
	p.Await(t, "as the recording shows it", func() bool { // unless a queue has changed since the recorder's last snapshot
		now, err := p.Control(t).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		moment = now.Time.Format(time.RFC3339Nano)
		var then string
		p.Await(t, "recorded up to the moment", func() bool {
			stdout, _, code := program.Run(t, program.Command(t, "status", "--from", file, "--at", moment))
			then = stdout
			return code == 0
		})
		var status strings.Builder
		if err := ui.WriteStatus(&status, now, "", false, ui.Mode{}.StatusWidth()); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(then, "deployment") && queuesOf(then) == queuesOf(status.String())
	})
	questions := [][]string{{"why", pod}, {"why", pod, "--changed", "-o", "json"}, {"trace", "deploy/" + web}, {"trace", "Deployment.apps", web, "--controller", "replicaset"}}
	told := make([]string, len(questions))
	for i, q := range questions {
		want := live(q...)
		told[i] = want
		if got := recorded(append(q, "--from", file, "--at", moment)...); got != want {
			t.Errorf("%q of the recording:\n%s\nof the control plane:\n%s", q, got, want)
		}
	}
	early := program.Command(t, "why", pod, "--from", file, "--at", "0s")
	program.RequireFailure(t, early, 1, "no such object in the recorded history up to ")

	p.Stop(t, syscall.SIGTERM)
	if got := recorded("why", pod, "--from", file); got != told[0] {
		t.Errorf("at the end of the recording:\n%s\nof the control plane:\n%s", got, told[0])
	}
	if got := recorded("status", "--from", file); !strings.Contains(got, " is ready") {
		t.Errorf("the status before the control plane stopped:\n%s", got)
	}
	const some = 20_000
	end := strings.Index(testutil.ReadFile(t, file)[some:], "\n") // cut at the end of a line, it would be complete
	if err := os.Truncate(file, int64(some+end-1)); err != nil {  // as if it had been killed
		t.Fatal(err)
	}
	stdout, stderr, code := program.Run(t, program.Command(t, "status", "--from", file))
	if code != 0 || !strings.Contains(stdout, " is ") || !strings.Contains(stderr, "is cut: what is before it is shown") {
		t.Errorf("of a cut recording: exit code %d, %s%s", code, stdout, stderr)
	}
}

// queuesOf returns the table of the queues.
func queuesOf(status string) string {
	_, table, _ := strings.Cut(status, "\n\n")
	table, _, _ = strings.Cut(table, "\n\nCLIENT")
	return table
}

// TestRecordingOfFailedStart repeats a command with --record: a start that failed early does not keep
// the name, and the recording of one that failed later is kept, but not its data folder.
func TestRecordingOfFailedStart(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), minimal()...)
	port := p.Client(t).RESTClient().Get().URL().Port()
	manifest := filepath.Join(t.TempDir(), "bad.yaml")
	testutil.WriteFile(t, manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, extra: 1}")
	dir := filepath.Join(t.TempDir(), "new")
	for name, tc := range map[string]struct {
		args  []string
		code  int
		says  []string
		calls bool
	}{
		"locked":   {[]string{"--data-dir", p.Dir}, 1, []string{"is already running"}, false},
		"port":     {[]string{"--ephemeral", "--port", port}, 1, []string{"port " + port + " is in use"}, false},
		"manifest": {minimal("--data-dir", dir, "-f", manifest), 2, []string{manifest, "field not declared in schema"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.jsonl")
			program.RequireFailure(t, program.Command(t, append([]string{"up", "--ui", "none", "--record", file}, tc.args...)...), tc.code, tc.says...)
			text, err := os.ReadFile(file)
			if has := strings.Contains(string(text), `"kind":"called"`); has != tc.calls || err == nil != tc.calls {
				t.Errorf("has calls: %v, %v", has, err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the data folder: got %v, want not found", err)
			}
		})
	}
}
