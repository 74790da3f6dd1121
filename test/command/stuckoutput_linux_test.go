package command_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestStopWhileOutputIsStuck stops a control plane whose output is not read.
func TestStopWhileOutputIsStuck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := program.Command(t, append([]string{"up", "--ui", "json", "--data-dir", dir}, minimal()...)...)
	cmd.Stdout = in
	p := program.Start(t, cmd, dir)
	in.Close()
	p.Await(t, "ready", func() bool {
		client, err := program.NewClient(dir)
		return err == nil && client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	p.Await(t, "blocked on its output", func() bool { return isFull(out) })
	p.Stop(t, syscall.SIGTERM)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}

// isFull reports whether a pipe that is not read has no room left. It may hold less than its size: each of its pages has what was
// written at once, so that 16 writes of 3000 bytes fill one of 64 KiB.
func isFull(pipe *os.File) bool {
	in, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(in)
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(in), Events: unix.POLLOUT}}, 0)
	return err == nil && ready == 0
}

func pipeSize(pipe *os.File) (bytes int, err error) {
	return unix.FcntlInt(pipe.Fd(), unix.F_GETPIPE_SZ, 0)
}

// bytesForPipes returns how many bytes fill a number of pipes of the size that the system
// gives to new ones: 64 KiB, or less to a user who has many.
func bytesForPipes(t *testing.T, pipes float64) int {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := pipeSize(r)
	if err != nil {
		t.Fatal(err)
	}
	return int(pipes * float64(size))
}

// TestRunEndsWhileItsOutputIsStuck interrupts runs whose output is passed on and not read, once.
func TestRunEndsWhileItsOutputIsStuck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags []string
		pipes float64 // that the output of the command would fill: there are two
		print string
	}{
		"the command has exited":      {[]string{"--report", "out"}, 1.5, "yes"},
		"the command still runs":      {[]string{"--report", "out"}, 15, "yes"},
		"two versions, which run":     {[]string{"--kubernetes", "1.36,1.37"}, 15, "yes"},
		"two, without an end of line": {[]string{"--kubernetes", "1.36,1.37"}, 1.5, "yes | tr -d '\\n'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf("echo $$ >pid; %s | head -c %d", tt.print, bytesForPipes(t, tt.pipes))
			r := startRun(t, minimal(append(tt.flags, "--", "sh", "-c", script)...)...)
			testutil.Await(t, "full pipe", func() bool { return isFull(r.out) })
			if tt.pipes < 2 {
				r.awaitCommandEnd(t)
			}
			r.sendSignal(t, syscall.SIGINT)
			r.requireExit(t, 130)
			if tt.flags[0] == "--report" && !strings.Contains(r.stderr.String(), "the end of what the command printed is missing") {
				t.Errorf("it does not say that output is missing: %s", &r.stderr)
			}
		})
	}
}

// TestRunEndsAfterTheTimeoutWhileStderrIsStuck has runs time out whose stderr is not read.
func TestRunEndsAfterTheTimeoutWhileStderrIsStuck(t *testing.T) {
	t.Parallel()
	flood := fmt.Sprintf("yes | head -c %d >&2; exec sleep 1000", bytesForPipes(t, 15))
	gated := testutil.WriteFile(t, filepath.Join(t.TempDir(), "pod.yaml"), "{apiVersion: v1, kind: Pod, metadata: {name: gated, namespace: default}, "+
		"spec: {schedulingGates: [{name: example.com/later}], containers: [{name: c, image: i}]}}")
	for name, flags := range map[string][]string{
		"plain":         {},
		"with a report": {"--report", "out", "--settle"},
		"not healthy":   {"--healthy", "-f", gated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := newRunCommand(t, minimal(append(flags, "--timeout", "1s", "--", "sh", "-c", flood)...)...)
			cmd.Env = withoutCIEnv(cmd.Env)
			unread, stderr, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer unread.Close()
			cmd.Stderr = stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stderr.Close()
			cancel := time.AfterFunc(program.Timeout, func() { _ = cmd.Process.Kill() }) // it may have ended
			defer cancel.Stop()
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 124 {
				t.Errorf("got %v, want exit code 124", err)
			}
			requireNothingLeft(t, cmd)
		})
	}
}

// TestRunPassesOnAllToASlowReader begins to read after the time for which the output of processes
// is read that outlive the command: the clock is not to be too short, and may be too long.
func TestRunPassesOnAllToASlowReader(t *testing.T) {
	t.Parallel()
	bytes := bytesForPipes(t, 1.5) // they fit into those before and after ctrlplane
	r := startRun(t, minimal("--report", "out", "--", "sh", "-c", fmt.Sprintf("echo $$ >pid; yes | head -c %d", bytes))...)
	testutil.Await(t, "full pipe", func() bool { return isFull(r.out) })
	r.awaitCommandEnd(t)
	timer := time.NewTimer(2500 * time.Millisecond)
	<-timer.C
	if got, err := io.ReadAll(r.stdout); len(got) != bytes || err != nil {
		t.Errorf("read %d of %d bytes, %v", len(got), bytes, err)
	}
	r.requireExit(t, 0)
}

// TestVerbsEndWhileTheirOutputIsStuck has verbs print until nothing is accepted, and sends one
// signal.
func TestVerbsEndWhileTheirOutputIsStuck(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), "-v", "6")
	configMaps := p.Client(t).CoreV1().ConfigMaps("default")
	busy := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "busy"}}
	_, err := configMaps.Create(t.Context(), busy, metav1.CreateOptions{})
	for n := 0; err == nil && n < 300; n++ {
		busy.Data = map[string]string{"n": fmt.Sprint(n)}
		_, err = configMaps.Update(t.Context(), busy, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	const flood = "yes | head -c 1000000"
	for name, tt := range map[string]struct {
		args []string
		code int
	}{
		"reconcile": {[]string{"reconcile", "configmaps", "--", "sh", "-c", flood}, 0},
		"logs":      {[]string{"logs", "--follow"}, 0},
		"learn":     {[]string{"learn", "--auto", program.WriteLesson(t, "## One\n\n```run\nrun: "+flood+"\n```\n")}, 1},
		"trace":     {[]string{"trace", "configmap/busy", "--follow", "-o", "json"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := startVerb(t, append([]string{"--data-dir", p.Dir}, tt.args...)...)
			v.requireEndWhileStuck(t, tt.code)
		})
	}
}

// TestDevEndsWhileItsOutputIsStuck interrupts it once.
func TestDevEndsWhileItsOutputIsStuck(t *testing.T) {
	t.Parallel()
	v := startVerb(t, append([]string{"dev"}, minimal("--", "sh", "-c", "yes | head -c 1000000; exec sleep 1000")...)...)
	v.requireEndWhileStuck(t, 143)
	requireNothingLeft(t, v.cmd)
}

// stuckVerb is a verb whose stdout is not read.
type stuckVerb struct {
	cmd    *exec.Cmd
	out    *os.File
	stderr bytes.Buffer
	ended  chan struct{}
}

func startVerb(t *testing.T, args ...string) *stuckVerb {
	t.Helper()
	v := &stuckVerb{cmd: program.Command(t, args...), ended: make(chan struct{})}
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	v.out, v.cmd.Stdout, v.cmd.Stderr = out, in, &v.stderr
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		defer close(v.ended)
		_ = v.cmd.Wait() // its ProcessState has the result
	}()
	t.Cleanup(func() {
		_ = v.cmd.Process.Kill() // fails if it has ended
		<-v.ended
		out.Close()
	})
	return v
}

// requireEndWhileStuck sends SIGTERM once the output accepts nothing, and checks the exit code
// and that the loss is reported.
func (v *stuckVerb) requireEndWhileStuck(t *testing.T, code int) {
	t.Helper()
	testutil.Await(t, "full pipe", func() bool { return isFull(v.out) })
	program.Signal(t, v.cmd, syscall.SIGTERM)
	select {
	case <-v.ended:
	case <-time.After(program.Timeout):
		t.Fatalf("did not end within %v", program.Timeout)
	}
	if got := v.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(v.stderr.String(), "the end of the output is missing") {
		t.Errorf("exit code %d, want %d: %s", got, code, &v.stderr)
	}
}
