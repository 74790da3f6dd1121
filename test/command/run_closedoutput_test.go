//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestRunWithClosedOutput closes stdout while the command prints: the command receives SIGPIPE when it
// prints more, the run has the command's exit code, and the report is complete.
func TestRunWithClosedOutput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags  []string
		script string
		code   int
	}{
		"the command receives SIGPIPE": {[]string{"--report=out"}, "echo $$; read go; echo more; read end; yes", 128 + int(syscall.SIGPIPE)},
		"the command goes on":          {[]string{"--report=out"}, "trap '' PIPE; echo $$; read go; echo more 2>/dev/null; exit 3", 3},
		"several versions":             {[]string{"--report=out", "--kubernetes=1.36,1.37", "--jobs=1"}, "echo $$; read go; yes", 128 + int(syscall.SIGPIPE)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRun(t, minimal(append(tt.flags, "--", "sh", "-c", tt.script)...)...)
			r.readLine(t)
			r.out.Close()
			r.stdin.Close()
			r.requireExit(t, tt.code)
			out := filepath.Join(r.cmd.Dir, "out")
			if strings.Contains(name, "versions") {
				out = filepath.Join(out, "1.36")
			}
			readReport(t, out)
		})
	}
}

// TestUpWithClosedOutput closes the stdout of an ephemeral control plane, before it is ready or
// while it shows records: it stops, says why, and removes what it has added to the user's kubeconfig.
func TestUpWithClosedOutput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ready  bool                          // whether it is closed after that
		before func(kubeconfig string) error // before it is closed
		says   []string
	}{
		"while it starts": {},
		"while it serves": {ready: true},
		"and another error": {ready: true, before: func(kubeconfig string) error {
			return errors.Join(os.Remove(kubeconfig), os.Mkdir(kubeconfig, 0o700))
		}, says: []string{"user.kubeconfig", "is a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program.Command(t, append([]string{"up", "--ephemeral", "--ui=plain", "--merge-kubeconfig"}, minimal()...)...)
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = in, &stderr
			if !tt.ready {
				out.Close()
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Close()
			kubeconfig := filepath.Join(cmd.Dir, "user.kubeconfig")
			if tt.ready {
				lines := bufio.NewScanner(out)
				for lines.Scan() && !strings.Contains(lines.Text(), "ready in") {
				}
				config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
				if err != nil {
					t.Fatal(err)
				}
				client := kubernetes.NewForConfigOrDie(config)
				if tt.before != nil {
					err = tt.before(kubeconfig)
				}
				out.Close()
				if err != nil {
					t.Fatal(err)
				}
				// It may have noticed already, and refuse this.
				_, _ = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "seen"}}, metav1.CreateOptions{})
			}
			_ = cmd.Wait() // the exit code is checked
			if code := cmd.ProcessState.ExitCode(); code != 1 || strings.Contains(stderr.String(), "broken pipe") {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
			requireText(t, stderr.String(), append(tt.says, "stopped: nothing reads stdout any more: use --ui none or --detach")...)
			if config, err := clientcmd.LoadFromFile(kubeconfig); tt.before == nil && err == nil && len(config.Contexts) > 0 {
				t.Errorf("the user's kubeconfig has %v", config.Contexts)
			}
			requireNothingLeft(t, cmd)
		})
	}
}

// TestClosedOutputAndErrors reads the start of what a verb prints to one pipe, as with "2>&1 | head -1".
func TestClosedOutputAndErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"learn", "1", "--auto"}, 1},
		{append([]string{"dev", "--ui=plain"}, minimal("--", "sleep", "1000")...), 125},
	} {
		t.Run(tt.args[0], func(t *testing.T) {
			t.Parallel()
			cmd := program.Command(t, tt.args...)
			out, in := openPipe(t)
			cmd.Stdout, cmd.Stderr = in, in
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			closeFile(t, in)
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Error(err)
			}
			closeFile(t, out)
			_ = cmd.Wait() // the exit code is checked
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("%v, want exit code %d", cmd.ProcessState, tt.code)
			}
			requireNothingLeft(t, cmd)
		})
	}
}

// TestRunReportWithFullOutput runs a command with a report whose output goes to a full disk.
func TestRunReportWithFullOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cmd := newRunCommand(t, minimal("--report=out", "--", "yes")...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = withoutCIEnv(cmd.Env), full, &stderr
	_ = cmd.Run() // the exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGPIPE) {
		t.Errorf("exit code %d", code)
	}
	const says = "the output of the command is incomplete: write /dev/stdout: no space left on device: free space there, or redirect it"
	requireLastLine(t, stderr.String(), says)
	if page := readReport(t, filepath.Join(cmd.Dir, "out"))["report.html"]; !strings.Contains(page, says) {
		t.Errorf("the page does not contain %q", says)
	}
}

// TestReportRemovesUnfinished has what a killed run leaves.
func TestReportRemovesUnfinished(t *testing.T) {
	t.Parallel()
	r := startRun(t, minimal("--report=out", "--", "sh", "-c", "echo $$; read end")...)
	r.readLine(t)
	r.sendSignal(t, syscall.SIGKILL)
	<-r.ended
	out := filepath.Join(r.cmd.Dir, "out")
	if left, err := filepath.Glob(filepath.Join(out, "unfinished-*")); len(left) != 1 || err != nil {
		t.Fatalf("left: %v, %v", left, err)
	}
	again := newRunCommand(t, minimal("--report", out, "--", "true")...)
	again.Env = withoutCIEnv(again.Env)
	if _, stderr, code := program.Run(t, again); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if page := readReport(t, out)["report.html"]; !strings.Contains(page, "passed") {
		t.Error(`the page does not contain "passed"`)
	}
}

// TestRunWithoutJobSummary names a file for the summary of the job that cannot be written.
func TestRunWithoutJobSummary(t *testing.T) {
	t.Parallel()
	r := startRunWith(t, []string{"GITHUB_STEP_SUMMARY=/no/such/file"}, minimal("--report=out", "--no-hot-loop", "--timings", "--", "true")...)
	r.requireExit(t, 0)
	if strings.Contains(r.stderr.String(), "settling") { // --no-hot-loop does not exclude the start
		t.Errorf("settling: %s", &r.stderr)
	}
	requireText(t, r.stderr.String(), "warning: the summary of the job is incomplete: GITHUB_STEP_SUMMARY", "; the report is ")
}
