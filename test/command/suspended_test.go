//go:build unix

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testWaitForSuspended uses a control plane whose process is stopped, and lets it continue.
func testWaitForSuspended(t *testing.T, p *program.ControlPlane) {
	waiting := program.Command(t, "--data-dir", p.Dir, "wait", "pod/x", "--timeout", "10s")
	var waited lineBuffer
	waiting.Stderr = &waited
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	defer waiting.Process.Kill() // fails if it has ended
	p.Await(t, "waited for", func() bool { return strings.Contains(waited.String(), "does not exist") })
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	defer func() {
		if err := p.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	if runtime.GOOS != "linux" {
		for _, what := range []string{"settled", "pod/x"} {
			program.RequireFailure(t, program.Command(t, "--data-dir", p.Dir, "wait", what, "--timeout", "1s"), 1,
				"no answer from the API server: timed out after 1s: the control plane is suspended or overloaded: see ")
		}
		return
	}
	if list := program.MustRun(t, p.Dir, "list"); !strings.Contains(list, " suspended ") {
		t.Errorf("list: %s", list)
	}
	program.RequireFailure(t, program.Command(t, "delete", "--data-dir", p.Dir), 1, "is running, nothing was deleted")
	why := fmt.Sprintf("ctrlplane: the process of the control plane is suspended: continue it with \"fg\" in its shell, or with \"kill -CONT %d\"\n", p.Cmd.Process.Pid)
	for _, args := range []string{"status", "top --ui plain", "wait settled", "wait pod/x", "controllers pause deployment", "kubectl get namespaces"} {
		_, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", p.Dir}, strings.Fields(args)...)...))
		if code != 1 || stderr != why { // not after a request that has timed out
			t.Errorf("%s: exit code %d, %s want %s", args, code, stderr, why)
		}
	}
	testKubectlOfSuspended(t, p)
	if err := waiting.Wait(); err == nil || !strings.Contains(waited.String(), "\n"+strings.TrimPrefix(why, "ctrlplane: ")) {
		t.Errorf("wait that has begun before: %v, %s want %s", err, &waited, why)
	}
}

// testKubectlOfSuspended runs what does not ask the control plane.
func testKubectlOfSuspended(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	plugins, kubeconfig := t.TempDir(), filepath.Join(p.Dir, "kubeconfig")
	if err := os.WriteFile(filepath.Join(plugins, "kubectl-where"), []byte("#!/bin/sh\necho \"plugin uses $KUBECONFIG\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"config current-context":                      "ctrlplane-",
		"config view --minify":                        "current-context: ctrlplane-",
		"--kubeconfig " + kubeconfig + " config view": "current-context: ctrlplane-",
		"where": "plugin uses " + kubeconfig + "\n",
	} {
		cmd := program.Command(t, append([]string{"--data-dir", p.Dir, "kubectl"}, strings.Fields(args)...)...)
		cmd.Env = append(cmd.Env, "PATH="+plugins+string(os.PathListSeparator)+os.Getenv("PATH"))
		if stdout, stderr, code := program.Run(t, cmd); code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("kubectl %s: exit code %d, %s%s want %s", args, code, stdout, stderr, want)
		}
	}
}

// TestSuspendedDuringStart suspends a process that waits for its storage.
func TestSuspendedDuringStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the state of the process is not known")
	}
	dir := t.TempDir()
	up := append([]string{"up", "--data-dir", dir, "--etcd-endpoints=http://127.0.0.1:1"}, minimal()...)
	p := program.Start(t, program.Command(t, append(up, "--ui=none")...), dir)
	p.Await(t, "starting", func() bool {
		pid, err := os.ReadFile(filepath.Join(dir, "pid"))
		return err == nil && len(pid) > 0
	})
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	why := fmt.Sprintf("the process of the control plane is suspended: continue it with \"fg\" in its shell, or with \"kill -CONT %d\"", p.Cmd.Process.Pid)
	for _, args := range []string{"status", "wait settled", "kubectl get namespaces", "controllers pause deployment", "kubectl config view"} {
		_, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", dir}, strings.Fields(args)...)...))
		if code != 1 || stderr != "ctrlplane: "+why+"\n" {
			t.Errorf("%s: exit code %d, %s want %s", args, code, stderr, why)
		}
	}
	for _, flag := range []string{"-d", "--ui=none"} {
		program.RequireFailure(t, program.Command(t, append(up, flag)...), 1, "is already started: "+why+", stop it with ")
	}
}

// requireSuspendedEnds stops a control plane whose process is suspended, as by Ctrl-Z.
func requireSuspendedEnds(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	program.Signal(t, p.Cmd, syscall.SIGSTOP)
	if out := program.MustRun(t, p.Dir, "down"); !strings.Contains(out, " stopped") {
		t.Errorf("down: %s", out)
	}
	<-p.Done
}
