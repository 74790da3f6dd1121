package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestNamesSurviveACrashOfTheMachine traces a first start and the first save of a snapshot: a
// new name is durable once the folder that has it was synced after it was created.
func TestNamesSurviveACrashOfTheMachine(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "new", "data")
	cmd, names := traceNames(t, top, append([]string{"up", "--ui", "plain", "--data-dir", dir}, minimal()...)...)
	var out lineBuffer
	cmd.Stdout = &out
	p := program.Start(t, cmd, dir)
	t.Cleanup(func() { killOwner(t, dir) })                                                          // strace does not end what it traces
	p.Await(t, "ready", func() bool { return strings.Contains(out.String(), "https://127.0.0.1:") }) // the start is over
	// A start creates the others again, or does without them.
	again := regexp.MustCompile(`/(lock|pid|ctrlplane\.log|kubeconfig|\.touch|[^/]*\.tmp)$`)
	names(again, "new", "new/data", "new/data/ctrlplane.json", "new/data/etcd", "new/data/etcd/member", "new/data/etcd/member/snap/db", "new/data/pki", "new/data/state.json")

	cmd, names = traceNames(t, top, "--data-dir", dir, "snapshot", "save", "one")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(top, "state"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names(regexp.MustCompile(`^$`), "state", "state/ctrlplane", "state/ctrlplane/_snapshots", "state/ctrlplane/_snapshots/one")
	program.MustRun(t, dir, "down")
	<-p.Done
}

// killOwner kills the process that uses a data folder, if there is one.
func killOwner(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return // it has ended
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

var (
	createCall = regexp.MustCompile(`(?:mkdir|mkdirat|open|openat)\(.*?"([^"]+)"(?:, 0[0-7]+|.*O_CREAT)`)
	renameCall = regexp.MustCompile(`rename[at2]*\(.*"([^"]+)"`)
	syncCall   = regexp.MustCompile(`fsync\(\d+<([^>]+)>`)
)

// traceNames returns a command that runs the program, and a function that checks the names which it
// has created below a folder so far: some of them have to be among those, and all that exist but
// those that match have to be durable.
func traceNames(t *testing.T, top string, args ...string) (_ *exec.Cmd, check func(but *regexp.Regexp, some ...string)) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	log := filepath.Join(t.TempDir(), "calls")
	traced := func(command ...string) []string {
		return append([]string{strace, "-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-o", log, "-e", "trace=/^(mkdir|open|rename|fsync)"}, command...)
	}
	if out, err := exec.Command(strace, traced("true")[1:]...).CombinedOutput(); err != nil { // a container may not permit it
		t.Skipf("strace does not work here: %v: %s", err, out)
	}
	cmd := program.Command(t, args...)
	cmd.Path, cmd.Args = strace, traced(append([]string{cmd.Path}, args...)...)
	return cmd, func(but *regexp.Regexp, some ...string) {
		t.Helper()
		calls, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		pending := map[string]bool{} // by name, whether its folder is still to be synced
		for line := range strings.Lines(string(calls)) {
			for _, call := range []*regexp.Regexp{createCall, renameCall} {
				if m := call.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], top+"/") && !strings.Contains(line, " = -1 ") {
					pending[m[1]] = true
				}
			}
			if m := syncCall.FindStringSubmatch(line); m != nil {
				for name := range pending {
					if filepath.Dir(name) == m[1] {
						pending[name] = false
					}
				}
			}
		}
		for _, name := range some {
			if _, ok := pending[filepath.Join(top, name)]; !ok {
				t.Errorf("%s was not created", name)
			}
		}
		var lost []string
		for name, left := range pending {
			if _, err := os.Lstat(name); left && err == nil && !but.MatchString(name) {
				lost = append(lost, strings.TrimPrefix(name, top+"/"))
			}
		}
		slices.Sort(lost)
		if len(lost) > 0 {
			t.Errorf("a crash of the machine may lose %s", strings.Join(lost, ", "))
		}
	}
}
