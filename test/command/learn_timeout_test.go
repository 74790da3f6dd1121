package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testLearnUnderTimeout checks that a lesson under timeout(1) keeps its namespace for itself, and cleans up: timeout sends its
// signal to the process and then to the whole group, which includes the lesson's commands.
func testLearnUnderTimeout(t *testing.T, p *program.ControlPlane) {
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip(err)
	}
	lesson := program.WriteLesson(t, "## One\n```run\nrun: kubectl create configmap note && sleep 1000\n```\n")
	class, flags := joined(t)
	cmd := program.Command(t, append([]string{"--data-dir", p.Dir, "learn", "--auto", lesson}, flags...)...)
	cmd.Args = append([]string{timeout, "600", program.Path()}, cmd.Args[1:]...)
	cmd.Path = timeout
	run := program.Start(t, cmd, p.Dir)
	run.Await(t, "running its command", func() bool {
		_, err := p.Client(t).CoreV1().ConfigMaps("lesson-mine").Get(t.Context(), "note", metav1.GetOptions{})
		return err == nil
	})
	// A second one says what else to do than to stop the first one.
	second := program.Command(t, "--data-dir", p.Dir, "learn", lesson)
	program.RequireFailure(t, second, 1, "is running this lesson in namespace lesson-mine: stop it first, or use another control plane with --name")
	run.Stop(t, syscall.SIGTERM) // it sends what it receives, too
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(run.Stderr.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, run.Stderr)
	}
	requireSent(t, class, `"step":1,"of":1,"state":"left"`)
	program.RequireLessonCleanedUp(t, p)
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-learn-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// testLearnTerminatedTwice sends SIGTERM again while a lesson cleans up.
func testLearnTerminatedTwice(t *testing.T, p *program.ControlPlane) {
	dir := t.TempDir()
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", lessonWithProcesses(t, dir))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	startWithProcesses(t, p, cmd, dir)
	program.Signal(t, cmd, syscall.SIGTERM)
	awaitEnded := make(chan error, 1)
	go func() { awaitEnded <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond) // until its very end
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-awaitEnded:
			ended = true
		case <-tick.C:
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended just now
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
	awaitProcessesEnded(t, dir)
	program.RequireLessonCleanedUp(t, p)
	if left, err := filepath.Glob(filepath.Join(cmd.Dir, "ctrlplane-learn-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// testLearnKilled kills the process group of a lesson, as the runner of a CI job does: what its commands have started, in the
// background, too, ends with it.
func testLearnKilled(t *testing.T, p *program.ControlPlane) {
	dir := t.TempDir()
	lesson := lessonWithProcesses(t, dir)
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", lesson)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	startWithProcesses(t, p, cmd, dir)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
	awaitProcessesEnded(t, dir)
	again := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", program.WriteLesson(t, twoSteps)) // removes what was left
	if _, stderr, code := program.Run(t, again); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	program.RequireLessonCleanedUp(t, p)
}

// lessonWithProcesses writes a lesson that writes the ID of a process in the background, which SIGTERM does not end, and that
// of one in the foreground to files in a folder.
func lessonWithProcesses(t *testing.T, dir string) string {
	t.Helper()
	return program.WriteLesson(t, `## One
`+"```run"+`
run: sh -c 'trap "" TERM; echo $$ > `+filepath.Join(dir, "background")+`; while sleep 0.1; do :; done' &
`+"```"+`
`+"```run"+`
run: until test -s `+filepath.Join(dir, "background")+`; do sleep 0.1; done; sh -c 'echo $$ > `+filepath.Join(dir, "foreground")+`; exec sleep 1000' && true
`+"```"+`
`)
}

// startWithProcesses starts a command with such a lesson, and waits for its processes.
func startWithProcesses(t *testing.T, p *program.ControlPlane, cmd *exec.Cmd, dir string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "begin of the lesson", func() bool {
		info, err := os.Stat(filepath.Join(dir, "foreground"))
		return err == nil && info.Size() > 0
	})
}

// awaitProcessesEnded waits for the end of the processes of such a lesson: they have not ended yet when they are killed.
func awaitProcessesEnded(t *testing.T, dir string) {
	t.Helper()
	for _, file := range []string{"background", "foreground"} {
		pid := strings.TrimSpace(testutil.ReadFile(t, filepath.Join(dir, file)))
		testutil.Await(t, "end of process "+pid+" of the lesson", func() bool {
			state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
			return len(state) == 0 || state[0] == 'Z' // what the system has not reaped yet is a zombie, or has no state
		})
	}
}
