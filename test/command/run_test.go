//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// runProcess is a running "ctrlplane run".
type runProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *os.File // its stdout, which stdout reads
	stdout *bufio.Reader
	stderr bytes.Buffer
	ended  chan struct{}

	dataDir string // of its control plane; readClient sets it
}

// longTimeout is for runs that settle: by default they may take a minute for that, which a busy machine may need. One
// that never settles says why before the deadline of the tests.
const longTimeout = "--timeout=10m"

// newRunCommand returns a "ctrlplane run" without a terminal, even if the test has one.
func newRunCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program.Command(t, append([]string{"run"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func startRun(t *testing.T, args ...string) *runProcess {
	t.Helper()
	return startRunWith(t, nil, args...)
}

// startRunWith adds variables to the environment of the run.
func startRunWith(t *testing.T, env []string, args ...string) *runProcess {
	t.Helper()
	r := &runProcess{cmd: newRunCommand(t, args...), ended: make(chan struct{})}
	r.cmd.Env = append(withoutCIEnv(r.cmd.Env), env...)
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdin, r.out, r.stdout, r.cmd.Stdout, r.cmd.Stderr = stdin, out, bufio.NewReader(out), stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // its ProcessState has the result
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
		<-r.ended
		out.Close()
	})
	return r
}

// readLine returns the next line that the command prints.
func (r *runProcess) readLine(t *testing.T) string {
	t.Helper()
	line, err := r.stdout.ReadString('\n')
	if err != nil {
		<-r.ended
		t.Fatalf("no line: %v: %s", err, &r.stderr)
	}
	return strings.TrimSpace(line)
}

func (r *runProcess) sendSignal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	program.Signal(t, r.cmd, sig)
}

// trySignal sends a signal to a run that may just have ended.
func (r *runProcess) trySignal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// sendSecond sends a signal to a run that has seen another one, as soon as it counts as a second one.
func (r *runProcess) sendSecond(t *testing.T, sig syscall.Signal) {
	t.Helper()
	<-time.After(endsignals.RepeatTime)
	r.trySignal(t, sig)
}

// requireExit waits for the end of the run, and checks that its exit code is one of those
// given and that it leaves nothing behind.
func (r *runProcess) requireExit(t *testing.T, codes ...int) {
	t.Helper()
	r.requireExitWithin(t, program.Timeout, codes...)
}

func (r *runProcess) requireExitWithin(t *testing.T, limit time.Duration, codes ...int) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(limit):
		t.Fatalf("did not end within %v", limit)
	}
	if got := r.cmd.ProcessState.ExitCode(); !slices.Contains(codes, got) {
		t.Errorf("exit code %d, want one of %d: %s", got, codes, &r.stderr)
	}
	requireNothingLeft(t, r.cmd)
}

// requireNoMoreOutput checks, after the end of the run, that its command has printed nothing more.
func (r *runProcess) requireNoMoreOutput(t *testing.T) {
	t.Helper()
	if out, err := io.ReadAll(r.stdout); len(out) > 0 || err != nil {
		t.Errorf("stdout %q, %v", out, err)
	}
}

func requireNothingLeft(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// requireLastLine checks that the last line is one of ours and contains a text.
func requireLastLine(t *testing.T, stderr, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "ctrlplane: ") || !strings.Contains(last, want) {
		t.Errorf("the last line is %q, want it to contain %q", last, want)
	}
}

// TestRunExitCodes checks the exit codes that are not those of the command.
func TestRunExitCodes(t *testing.T) {
	t.Parallel()
	plain := testutil.WriteFile(t, filepath.Join(t.TempDir(), "plain"), "")
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"not found", []string{"--", "no-such-command"}, 127, "PATH"},
		{"no such file", []string{"--", "/no/such/file"}, 127, "/no/such/file"},
		{"not executable", []string{"--", plain}, 126, "permission denied"},
		{"a folder", []string{"--", "/"}, 126, "directory"},
		{"no control plane", []string{"--bind-address=192.0.2.1", "--", "true"}, 125, "192.0.2.1"},
		{"a slow start", []string{"--etcd-endpoints=http://127.0.0.1:1", "--", "true"}, 125, "http://127.0.0.1:1"},
		{"bad flag", []string{"--pod-cidr=zz", "--", "true"}, 2, "zz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := newRunCommand(t, tc.args...)
			stdout, stderr, code := program.Run(t, cmd)
			if code != tc.code || stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q: %s", code, tc.code, stdout, stderr)
			}
			requireLastLine(t, stderr, tc.says)
			if strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr is not one line: %q", stderr)
			}
			requireNothingLeft(t, cmd)
		})
	}
}

// TestRunCommandEndedBySignal has signals end the command that were not sent to ctrlplane: what a shell shows is shown.
func TestRunCommandEndedBySignal(t *testing.T) {
	t.Parallel()
	for sig, says := range map[syscall.Signal]string{
		syscall.SIGKILL: "ctrlplane: the command was ended by signal 9 (SIGKILL), which ctrlplane has not sent\n",
		syscall.SIGSEGV: "ctrlplane: the command was ended by signal 11 (SIGSEGV), which ctrlplane has not sent\n",
		syscall.SIGINT:  "",
		syscall.SIGPIPE: "",
	} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			_, stderr, code := program.Run(t, newRunCommand(t, minimal("--", "sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$", sig))...))
			if code != 128+int(sig) || stderr != says {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
}

// reportScript prints the environment of the command and waits for the end of stdin.
const reportScript = `test -s "$KUBECONFIG" && echo "$KUBECONFIG"; echo "$CTRLPLANE_URL"; echo "$USE_EXISTING_CLUSTER"; exec cat`

// readClient reads what reportScript prints.
func (r *runProcess) readClient(t *testing.T) (*kubernetes.Clientset, *rest.Config) {
	t.Helper()
	path := r.readLine(t)
	r.dataDir = filepath.Dir(path)
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if url := r.readLine(t); url != cfg.Host {
		t.Errorf("CTRLPLANE_URL is %q, KUBECONFIG has %q", url, cfg.Host)
	}
	if use := r.readLine(t); use != "true" {
		t.Errorf("USE_EXISTING_CLUSTER is %q, want true", use)
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client, cfg
}

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestRunsInParallel(t *testing.T) {
	t.Parallel()
	const n = 2
	runs := make([]*runProcess, n)
	for i := range runs {
		runs[i] = startRun(t, minimal("--", "sh", "-c", reportScript)...)
	}
	seen := map[string]bool{}
	for i, r := range runs {
		client, cfg := r.readClient(t)
		seen[cfg.Host] = true
		maps := client.CoreV1().ConfigMaps("default")
		if _, err := maps.Create(t.Context(), newConfigMap("mine"), metav1.CreateOptions{}); err != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if len(seen) != n {
		t.Errorf("%d runs share %d addresses", n, len(seen))
	}
	for _, r := range runs {
		fmt.Fprintln(r.stdin, "through")
		if got := r.readLine(t); got != "through" {
			t.Errorf("the command printed %q", got)
		}
		r.stdin.Close()
	}
	for _, r := range runs {
		r.requireExit(t, 0)
	}
}

// TestRunWithoutStdinAndEnvironment closes stdin and empties the environment.
func TestRunWithoutStdinAndEnvironment(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `exec env -i TMPDIR="$TMPDIR" "$0" run --nodes=0 --no-scheduler --controllers=namespace -- sh -c 'cat; echo "end $FOO$HOME$USE_EXISTING_CLUSTER"' <&-`, program.Path()}
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 || stdout != "end true\n" {
		t.Errorf("exit code %d, stdout %q: %s", code, stdout, stderr)
	}
	requireNothingLeft(t, cmd)
}

// idleScript starts a background process to wait for: a waiting shell handles signals at once. It comes before a trap, as a
// signal to the group is lost in a child of dash that has the handler of the trap until it executes the program.
const idleScript = "sleep 60 </dev/null >/dev/null 2>&1 & "

func TestRunForwardsSignals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, script string
		sig          syscall.Signal
		code         int
	}{
		// SIGINT is in TestRunReportAfterInterrupt.
		{"SIGTERM, handled with an exit code", idleScript + "trap 'exit 5' TERM; echo $$; wait", syscall.SIGTERM, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := startRun(t, minimal("--", "sh", "-c", tc.script)...)
			pid := r.readLine(t)
			r.sendSignal(t, tc.sig)
			r.requireExit(t, tc.code)
			if processAlive(t, pid) {
				t.Errorf("process %s still runs", pid)
			}
		})
	}
	t.Run("SIGTERM before the API server serves", func(t *testing.T) {
		t.Parallel()
		r := terminateRunWithoutStorage(t, "--", "echo", "started")
		r.requireExit(t, 143)
		r.requireNoMoreOutput(t)
	})
	t.Run("SIGTERM while starting", func(t *testing.T) {
		t.Parallel()
		r := startHangingRun(t, "--", "echo", "started")
		r.sendSignal(t, syscall.SIGTERM)
		r.requireExit(t, 143)
		r.requireNoMoreOutput(t)
	})
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(sig.String()+" while reading manifests", func(t *testing.T) {
			t.Parallel()
			r := startRun(t, "-f", "-", "--", "true")
			// More than a pipe holds: it is written when ctrlplane reads.
			if _, err := io.WriteString(r.stdin, strings.Repeat("#\n", 128<<10)); err != nil {
				t.Fatal(err)
			}
			r.sendSignal(t, sig)
			r.requireExit(t, code)
		})
	}
	for _, flag := range []string{"-f", "--from"} {
		t.Run("SIGTERM while reading a pipe for "+flag, func(t *testing.T) {
			t.Parallel()
			pipe := newPipe(t)
			r := startRun(t, flag, pipe, "--", "true")
			defer awaitReader(t, pipe).Close()
			r.sendSignal(t, syscall.SIGTERM)
			r.requireExit(t, 143)
		})
	}
	t.Run("while stopping", func(t *testing.T) {
		t.Parallel()
		r := startRun(t, minimal("--", "sh", "-c", "echo $$; cat; exit 7")...)
		pid := r.readLine(t)
		r.stdin.Close()
		testutil.Await(t, "the end of the command", func() bool { return !processAlive(t, pid) })
		r.trySignal(t, syscall.SIGINT)
		r.requireExit(t, 7)
	})
}

// terminateRunWithoutStorage starts a run whose API server waits for its storage, and sends SIGTERM. The run fails
// by itself after 5 s, in which a busy machine may not find it starting.
func terminateRunWithoutStorage(t *testing.T, args ...string) (r *runProcess) {
	t.Helper()
	for range 5 {
		r = startRun(t, append([]string{"--etcd-endpoints=http://127.0.0.1:1"}, args...)...)
		testutil.Await(t, "temporary folder", func() bool {
			found, err := filepath.Glob(filepath.Join(r.cmd.Dir, "ctrlplane-*"))
			return len(found) > 0 || err != nil || isClosed(r.ended)
		})
		r.trySignal(t, syscall.SIGTERM)
		<-r.ended
		if !strings.Contains(r.stderr.String(), "http://127.0.0.1:1") {
			break
		}
	}
	return r
}

func processAlive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return !errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// hasEnded reports whether a process has ended, whether it was reaped or not: an orphan is reaped by a
// process that is not ours.
func hasEnded(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat") // fails where there is no /proc
	return err == nil && strings.Contains(string(stat), ") Z ") || !processAlive(t, pid)
}

// awaitCommandEnd returns when the process has exited whose PID is in the file pid.
func (r *runProcess) awaitCommandEnd(t *testing.T) {
	t.Helper()
	pid := testutil.ReadFile(t, filepath.Join(r.cmd.Dir, "pid"))
	testutil.Await(t, "end of the command", func() bool { return !processAlive(t, strings.TrimSpace(pid)) })
}

// TestRunReportsLeftoverProcesses kills the command but not its child process.
func TestRunReportsLeftoverProcesses(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip(err)
	}
	r := startRun(t, minimal("sh", "-c", "sleep 61 </dev/null >/dev/null 2>&1 & until ps -o comm= -p $! | grep -q sleep; do :; done; echo $!; kill -KILL $$")...)
	pid := r.readLine(t)
	r.requireExit(t, 137)
	requireLastLine(t, r.stderr.String(), pid+" (sleep)")
	if !processAlive(t, pid) {
		t.Errorf("process %s is no longer running", pid)
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestRunSettle checks, without controllers, the state that a settled run left.
func TestRunSettle(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	kubectl := func(args string) []string {
		return []string{"--data-dir", dir, "--", "sh", "-c", `exec "$0" --data-dir "${KUBECONFIG%/*}" kubectl ` + args, program.Path()}
	}
	create := kubectl("create deployment web --image=registry.invalid/web --replicas=3")
	if _, stderr, code := program.Run(t, newRunCommand(t, append([]string{"--settle", longTimeout}, create...)...)); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	get := kubectl("get deployment web -o 'jsonpath={.status.readyReplicas}'")
	stdout, stderr, code := program.Run(t, newRunCommand(t, minimal(get...)...))
	if code != 0 || stdout != "3" {
		t.Errorf("exit code %d, %q Pods were ready: %s", code, stdout, stderr)
	}
}

// TestRunSettleTimeout leaves a paused controller with a write to make.
func TestRunSettleTimeout(t *testing.T) {
	t.Parallel()
	script := fmt.Sprintf("%[1]s controllers pause deployment && %[1]s kubectl create deployment web --image=registry.invalid/web", program.Path())
	var r *runProcess
	// The time of the script counts, too: it starts two programs.
	for timeout := 5 * time.Second; ; timeout *= 2 {
		r = startRun(t, "--nodes=0", "--no-scheduler", "--controllers=deployment", "--settle", "--timeout="+timeout.String(), "--report=out", "--", "sh", "-c", script)
		r.stdin.Close()
		r.requireExitWithin(t, timeout+program.Timeout, 124)
		if strings.Contains(r.stderr.String(), "not settled: ") || timeout > program.Timeout {
			break
		}
	}
	requireLastLine(t, r.stderr.String(), "not settled: deployment-controller")
	requireText(t, readReport(t, filepath.Join(r.cmd.Dir, "out"))["junit.xml"],
		`<testsuite name="command" tests="1" failures="0"`, `<testcase name="--settle"`, `message="not settled: deployment-controller`)
}

// TestSignalsForTheCommandWhileSettling sends signals that only have a meaning for the command
// once that has exited: the run goes on settling.
func TestSignalsForTheCommandWhileSettling(t *testing.T) {
	t.Parallel()
	script := fmt.Sprintf("echo $$ >pid; %[1]s controllers pause deployment >&2 && %[1]s kubectl create deployment web --image=registry.invalid/web >&2; echo $CTRLPLANE_DATA_DIR", program.Path())
	r := startRun(t, "--nodes=0", "--no-scheduler", "--controllers=deployment", "--settle", "--", "sh", "-c", script)
	dir := r.readLine(t)
	r.awaitCommandEnd(t)
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT} {
		r.sendSignal(t, sig)
	}
	program.MustRun(t, dir, "controllers", "resume", "deployment")
	r.requireExit(t, 0)
}

// TestRunGracePeriods has a command that ignores SIGTERM, which takes ten seconds, and a
// control plane that ends because it loses its leader election lease.
func TestRunGracePeriods(t *testing.T) {
	t.Parallel()
	stubborn, timeout := startRunBeyondTimeout(t, "trap 'echo ignored' TERM; echo 1; while :; do sleep 0.5; done")
	r := startRun(t, minimal("--leader-elect", "--", "sh", "-c", idleScript+"trap 'echo terminated; exit 0' TERM; "+strings.TrimSuffix(reportScript, "exec cat")+"wait")...)
	client, _ := r.readClient(t)
	leases := client.CoordinationV1().Leases("kube-system")
	testutil.Await(t, "loss of the lease", func() bool {
		list, err := leases.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list.Items {
			if !strings.HasPrefix(l.Name, "apiserver-") {
				other := "another"
				l.Spec.HolderIdentity = &other
				if _, err := leases.Update(t.Context(), &l, metav1.UpdateOptions{}); err == nil {
					return true
				}
			}
		}
		return false
	})
	if got := r.readLine(t); got != "terminated" {
		t.Errorf("the command printed %q", got)
	}
	r.requireExit(t, 125)
	requireLastLine(t, r.stderr.String(), "the control plane has exited")
	if got := stubborn.readLine(t); got != "ignored" {
		t.Errorf("the command printed %q", got)
	}
	stubborn.requireExit(t, 124)
	requireLastLine(t, stubborn.stderr.String(), "terminated after "+timeout.String())
	requireLastLine(t, stubborn.stderr.String(), "; it had not exited 10s later, and was killed")
}
