//go:build unix

package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// listedPlane is the part of "list -o json" that the tests check.
type listedPlane struct {
	Name, State, URL string
	DataDir          string
	PID              int
	Bytes            int64
}

func (u user) list(t *testing.T) []listedPlane {
	t.Helper()
	stdout, _ := u.mustRun(t, "list", "-o", "json")
	var list struct{ Items []listedPlane }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || list.Items == nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return list.Items
}

// requireOnly checks that there is one control plane, and its state.
func (u user) requireOnly(t *testing.T, name, state string) listedPlane {
	t.Helper()
	list := u.list(t)
	if len(list) != 1 || list[0].Name != name || list[0].State != state || list[0].Bytes == 0 {
		t.Fatalf("got %+v, want %s %s", list, name, state)
	}
	return list[0]
}

// upDetached starts a control plane in the background, which the end of the test stops.
func (u user) upDetached(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	t.Cleanup(u.downAll)
	stdout, _ = u.mustRun(t, append([]string{"up", "-d"}, minimal(args...)...)...)
	return stdout
}

// downAll stops what a failed test has left running.
func (u user) downAll() {
	cmd := exec.Command(program.Path(), "down", "--all")
	cmd.Env = u.env
	_ = cmd.Run() // there is usually nothing to stop
}

// TestDetached takes a control plane in the background through its life.
func TestDetached(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if list := u.list(t); len(list) > 0 {
		t.Errorf("before the first start: %+v", list)
	}
	requireText(t, u.upDetached(t, "--name", "demo"), "ctrlplane demo is ready", "To stop it: "+program.Path()+" --name demo down")
	p := u.requireOnly(t, "demo", "running")
	for _, detach := range []string{"-d", "--ui=plain"} {
		stdout, stderr, code := program.Run(t, u.command(t, "up", detach, "--name", "demo"))
		if want := `ctrlplane: control plane "demo" is already running at ` + p.URL + ": see "; code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, "--name demo status") {
			t.Errorf("up %s again: exit code %d, stdout %q, stderr %q, want %q", detach, code, stdout, stderr, want)
		}
	}
	program.RequireFailure(t, u.command(t, "--name", "demo", "clients", "pause", "nosuch"), 2, `unknown client "nosuch": "`+program.Path()+` --name demo clients" lists`)
	program.RequireFailure(t, u.command(t, "--data-dir", p.DataDir, "controllers", "held", "nosuch"), 2, `"`+program.Path()+` --data-dir `+p.DataDir+` controllers" lists`)
	program.RequireFailure(t, u.command(t, "up", "--ephemeral", "--name", "demo"), 1, `a control plane called "demo" exists already, in `, "choose another --name")
	program.RequireFailure(t, u.command(t, "delete", "demo"), 1, "is running, nothing was deleted", "--name demo down")
	program.RequireFailure(t, u.command(t, "down"), 1, `control plane "default" is not running`, "--name demo")

	out := &lineBuffer{}
	logs := u.command(t, "--name", "demo", "logs", "-f")
	logs.Stdout = out
	following := &outputFollower{program.Start(t, logs, ""), out}
	following.awaitText(t, "component=etcd")
	requireText(t, u.stopTwice(t, "demo"), `control plane "demo" stopped`)
	<-following.Done
	if code := following.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("logs -f: exit code %d", code)
	}
	following.awaitText(t, "closed etcd server") // the last words
	u.requireOnly(t, "demo", "stopped")
	stdout, _ := u.mustRun(t, "down", "demo")
	requireText(t, stdout, `control plane "demo" was not running`)
	stdout, _ = u.mustRun(t, "logs", "demo", "--tail", "30")
	requireText(t, stdout, "closed etcd server")
	program.RequireFailure(t, u.command(t, "logs", "dmo"), 2, `control plane "dmo" does not exist: did you mean "demo"?`)
	program.RequireFailure(t, u.command(t, "logs", "demo", "other"), 2, "logs takes one name")
	program.RequireFailure(t, u.command(t, "--name", "demo", "logs", "demo"), 2, "logs: names exclude --name and --data-dir")

	removeDefault := u.addStopped(t, p.DataDir, "default")
	stdout, _ = u.mustRun(t, "logs")
	requireText(t, stdout, "the last line of default")
	u.upDetached(t, "--name", "demo")
	stdout, _ = u.mustRun(t, "logs")
	requireText(t, stdout, "the last line of default")
	removeDefault()
	stdout, _ = u.mustRun(t, "logs") // of the only one that is running
	requireText(t, stdout, "component=etcd")
	p = u.requireOnly(t, "demo", "running")
	if err := syscall.Kill(p.PID, syscall.SIGQUIT); err != nil { // the Go runtime crashes
		t.Fatal(err)
	}
	testutil.Await(t, "end of the process", func() bool { return hasEnded(t, strconv.Itoa(p.PID)) })
	stdout, _ = u.mustRun(t, "--name", "demo", "logs")
	requireText(t, stdout, "SIGQUIT: quit")
	u.requireOnly(t, "demo", "crashed")
	program.RequireFailure(t, u.command(t, "--name", "demo", "status"), 1, "it has crashed or was killed", "--name demo logs", "--name demo up")
	program.RequireFailure(t, u.command(t, "delete", "dmo"), 2, `control plane "dmo" does not exist: did you mean "demo"?`)
	for _, args := range [][]string{{"delete", "ctrlplane-demo"}, {"--name", "ctrlplane-demo", "delete"}} { // its context's name
		program.RequireFailure(t, u.command(t, args...), 2, `control plane "ctrlplane-demo" does not exist`, `did you mean "demo"?`)
	}
	u.upDetached(t, "--name", "demo")
	u.mustRun(t, "delete", "demo", "--force")
	if list := u.list(t); len(list) > 0 {
		t.Errorf("after delete: %+v", list)
	}
}

// stopTwice stops a control plane twice at the same time, and returns what both print: a second signal
// would end it before it has closed its data folder.
func (u user) stopTwice(t *testing.T, name string) string {
	t.Helper()
	var both sync.WaitGroup
	out := &lineBuffer{}
	for range 2 {
		both.Go(func() {
			cmd := u.command(t, "stop", name) // as minikube calls it
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Run(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	both.Wait()
	return out.String()
}

// addStopped adds a stopped control plane, a copy of another one.
func (u user) addStopped(t *testing.T, dir, name string) (remove func()) {
	t.Helper()
	added := filepath.Join(filepath.Dir(dir), name)
	if err := os.CopyFS(added, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(added, "ctrlplane.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(log, "the last line of "+name)
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(added); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDetachedSurvivesItsTerminal ends the session in which an ephemeral control plane was started, and stops all control
// planes of another HOME beside it.
func TestDetachedSurvivesItsTerminal(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	t.Cleanup(u.downAll)
	out := &lineBuffer{}
	cmd := u.command(t)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `"$0" up -d --ephemeral "$@" && echo started && sleep 1000`, program.Path()}, minimal("--name", "mine")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = out
	shell := &outputFollower{program.Start(t, cmd, ""), out}
	shell.awaitText(t, "started")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
		_ = syscall.Kill(-cmd.Process.Pid, sig) // fails once the group has ended
	}
	<-shell.Done
	u.mustRun(t, "--name", "mine", "status")

	other := u
	other.env = append(slices.Clip(u.env), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	if stdout, _ := other.mustRun(t, "down", "--all"); !strings.Contains(stdout, "nothing to stop") {
		t.Errorf("down --all of another HOME: %s", stdout)
	}
	if list := other.list(t); len(list) > 0 {
		t.Errorf("another HOME lists %+v", list)
	}
	u.requireOnly(t, "mine", "running")
	const taken = `an ephemeral control plane called "mine" is running: choose another --name, or stop it with "`
	for _, kind := range []string{"--ephemeral", "--ui=plain"} {
		program.RequireFailure(t, u.command(t, "up", kind, "--name", "mine"), 1, taken, " down")
	}
	stdout, _ := u.mustRun(t, "down", "--all")
	requireText(t, stdout, `control plane "mine" in `, " stopped\n")
	if list := u.list(t); len(list) > 0 {
		t.Errorf("after down: %+v", list)
	}
	requireNothingLeft(t, cmd)
}

// TestDetachedStartFails checks that the process that was called reports the error.
func TestDetachedStartFails(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, tc := range []struct {
		args, says string
		code       int
	}{
		{"--bind-address 192.0.2.1", "this machine has no address 192.0.2.1", 1},
		{"--feature-gates NoSuchGate=true", "NoSuchGate", 2},
		{"--theme nosuch", "nosuch", 2},
		{"--ui plain", "--detach and --ui exclude each other", 2},
	} {
		program.RequireFailure(t, u.command(t, append([]string{"up", "-d"}, strings.Fields(tc.args)...)...), tc.code, tc.says)
	}
	if list := u.list(t); len(list) > 0 {
		t.Errorf("left behind: %+v", list)
	}
}

// suspendedStart begins a start that cannot succeed, and suspends the process that is to serve: it fails by
// itself after 5 s, which a busy machine may need to list it once, or to find it.
func (u user) suspendedStart(t *testing.T) (start *program.ControlPlane, pid int) {
	t.Helper()
	starting := func() bool {
		dir := filepath.Join(u.home, "state", "ctrlplane", "default")
		state, running, err := datadir.Peek(dir)
		_, unmarked := os.Stat(filepath.Join(dir, "ctrlplane.json")) // a folder without it is not listed
		pid = state.PID
		return err == nil && running && pid != 0 && unmarked == nil
	}
	for range 20 {
		start = program.Start(t, u.command(t, "up", "-d", "--etcd-endpoints", "http://127.0.0.1:1"), "")
		testutil.Await(t, "process", func() bool { return starting() || isClosed(start.Done) })
		if !starting() || syscall.Kill(pid, syscall.SIGSTOP) != nil {
			<-start.Done
			continue
		}
		stopped := pid
		if starting() {
			return start, pid
		}
		_ = syscall.Kill(stopped, syscall.SIGCONT) // it was about to end
		<-start.Done
	}
	t.Fatalf("all starts have ended before they were seen: %s", start.Stderr)
	return nil, 0
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestDetachedStartIsInterrupted presses Ctrl-C during a start that cannot succeed.
func TestDetachedStartIsInterrupted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	start, pid := u.suspendedStart(t)
	resume := func() { _ = syscall.Kill(pid, syscall.SIGCONT) } // fails if it has ended
	defer resume()
	list := u.list(t)
	if len(list) != 1 || list[0].State != "starting" || list[0].Name != "default" || list[0].PID != pid {
		t.Errorf("process %d is listed as %+v", pid, list)
	}
	program.Signal(t, start.Cmd, syscall.SIGINT)
	resume()
	<-start.Done
	if code := start.Cmd.ProcessState.ExitCode(); code != 1 || strings.Count(start.Stderr.String(), "\n") != 1 {
		t.Errorf("exit code %d: %s", code, start.Stderr)
	}
	if list = u.list(t); len(list) > 0 || syscall.Kill(pid, 0) == nil {
		t.Errorf("left behind: %+v, or process %d", list, pid)
	}
}
