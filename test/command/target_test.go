//go:build unix

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestVerbsWithoutAName checks which control plane a verb takes if none is named: never
// that of a run, and another one than the default only to read, with a note.
func TestVerbsWithoutAName(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r := startRun(t, minimal("--", "sh", "-c", `"$0" status && echo status-done && read end`, program.Path())...)
	for r.readLine(t) != "status-done" {
	}
	u.home, u.env = r.cmd.Dir, r.cmd.Env
	program.RequireFailure(t, u.command(t, "status"), 1, `control plane "default" is not running`)
	u.mustRun(t, "--name", "run", "status")

	u.upEphemeral(t)
	_, stderr := u.mustRun(t, "status")
	requireText(t, stderr, `ctrlplane: using control plane "ephemeral"`, "the only one running")
	u.mustRun(t, "snapshot", "save", "base")
	u.mustRun(t, "controllers", "speed")
	u.mustRun(t, "kubectl", "get", "-n", "default", "pods") // TestOnlyReads in cmd/ctrlplane has more
	u.mustRun(t, "kubectl", "create", "configmap", "c", "--dry-run=server")
	for _, args := range []string{
		"reset", "snapshot restore base", "nodes add", "nodes fail node-1", "controllers pause replicaset", "controllers step replicaset",
		"controllers speed 1/2", "clients pause kubectl", "reconcile configmaps -- true", "kubectl -n default delete pods --all",
	} {
		program.RequireFailure(t, u.command(t, strings.Fields(args)...), 1, `control plane "default" is not running: to change another one use --name ephemeral`)
	}
	// "snapshot save" took the one that runs: a restore does not take the stopped one in its place.
	stopped := filepath.Join(u.home, "state", "ctrlplane", "default")
	if err := os.MkdirAll(filepath.Join(stopped, "etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	program.RequireFailure(t, u.command(t, "snapshot", "restore", "base"), 1, "to change another one use --name ephemeral, and to change the stopped one use --name default")
	if err := os.RemoveAll(stopped); err != nil {
		t.Fatal(err)
	}
	if _, stderr = u.mustRun(t, "--name", "ephemeral", "reset"); stderr != "" {
		t.Errorf("named: stderr %q", stderr)
	}
	if _, stderr = u.mustRun(t, "--name", "ephemeral", "status"); stderr != "" {
		t.Errorf("named: stderr %q", stderr)
	}
	stranger := u
	stranger.env = append(slices.Clone(u.env), "HOME="+t.TempDir(), "XDG_STATE_HOME=")
	program.RequireFailure(t, stranger.command(t, "status"), 1, `control plane "default" is not running`)
	program.RequireFailure(t, stranger.command(t, "--name", "ephemeral", "down"), 2, `"ephemeral"`)
	u.up(t, "demo", minimal("--name", "demo")...)
	program.RequireFailure(t, u.command(t, "status"), 1, "several control planes are running", "--name demo", "--name ephemeral")

	r.stdin.Close()
	<-r.ended
	if stderr := program.WithoutSlowStart(r.stderr.String()); stderr != "" {
		t.Errorf("a verb in the command of a run: stderr %q", stderr)
	}
}

// TestKubeconfigBeforeTheDefaultOne works on the control plane whose kubeconfig KUBECONFIG is, beside the default one, which
// stays as it is, also once the other one has stopped.
func TestKubeconfigBeforeTheDefaultOne(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up(t, "default", minimal()...)
	grow := u.up(t, "grow", minimal("--name", "grow")...)
	of := func(name string) string {
		stdout, _ := u.mustRun(t, "--name", name, "kubectl", "get", "configmaps", "-n", "default", "-o", "name")
		return stdout
	}
	onDefault := of("default")
	selecting := u
	selecting.env = append(slices.Clone(u.env), "KUBECONFIG="+filepath.Join(grow.Dir, "kubeconfig"))
	selecting.mustRun(t, "snapshot", "save", "base")
	selecting.mustRun(t, "kubectl", "create", "configmap", "which", "-n", "default")
	requireText(t, of("grow"), "configmap/which\n")
	stdout, stderr := selecting.mustRun(t, "snapshot", "restore", "base")
	requireText(t, stdout, "base restored to control plane \"grow\": ")
	if stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	stdout, _ = selecting.mustRun(t, "reset")
	requireText(t, stdout, "control plane \"grow\" reset: ")
	if strings.Contains(of("grow"), "which") {
		t.Error("neither the restore nor the reset was of the control plane of KUBECONFIG")
	}

	link := filepath.Join(u.home, "kubectl")
	if err := os.Symlink(program.Path(), link); err != nil {
		t.Fatal(err)
	}
	linked := selecting.command(t, "create", "configmap", "linked", "-n", "default")
	linked.Path, linked.Args[0] = link, link
	if _, stderr, code := program.Run(t, linked); code != 0 || stderr != "" {
		t.Errorf("kubectl: exit code %d: %s", code, stderr)
	}
	requireText(t, of("grow"), "configmap/linked\n")

	u.mustRun(t, "--name", "grow", "down")
	for _, args := range []string{"kubectl -n default delete configmaps --all", "kubectl get nodes", "reset", "snapshot restore base", "status"} {
		program.RequireFailure(t, selecting.command(t, strings.Fields(args)...), 1, `KUBECONFIG: control plane "grow" is not running: start it with `, "--name grow up", "or choose another one: --name default")
	}
	if now := of("default"); now != onDefault {
		t.Errorf("the default one had %q, and has %q", onDefault, now)
	}
	stdout, _ = selecting.mustRun(t, "down")
	requireText(t, stdout, "control plane \"default\" stopped\n")
	stdout, _ = selecting.mustRun(t, append([]string{"up", "-d"}, minimal()...)...)
	requireText(t, stdout, "warning: KUBECONFIG does not select this control plane: other verbs need --name default", "--name default kubectl ")
	selecting.mustRun(t, "down")
}

// TestNamedControlPlane shares a control plane that was started by the name of its context.
func TestNamedControlPlane(t *testing.T) {
	t.Parallel()
	u, kubeconfig := newKubectlUser(t)
	p := u.up(t, "demo", "--name", "ctrlplane-demo")
	t.Run("completion", func(t *testing.T) { u.testCompletion(t, p) })
	t.Run("output flag", u.testOutputFlag)
	t.Run("one name", u.testOneName)
	t.Run("kubectl uses only the control plane", func(t *testing.T) { u.testKubectlUsesOnlyTheControlPlane(t, kubeconfig) })
	t.Run("another version", u.testAnotherVersion)
}

// testAnotherVersion has the control plane be one that another version has started.
func (u user) testAnotherVersion(t *testing.T) {
	path := filepath.Join(u.home, "state", "ctrlplane", "demo", "state.json")
	var state map[string]any
	if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &state) != nil {
		t.Fatal(err)
	}
	own := state["ctrlplaneVersion"]
	for version, want := range map[any]string{
		own: "", "v0.0.1": "was started by v0.0.1, this is " + own.(string), nil: "was started by an earlier version of ctrlplane",
	} {
		state["ctrlplaneVersion"] = version
		text, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr := u.mustRun(t, "--name", "demo", "status", "-o", "json")
		if warnings := strings.Count(stderr, "ctrlplane: warning: the control plane "); (warnings != 0) != (want != "") || !strings.Contains(stderr, want) {
			t.Errorf("started by %v: stderr %q, want %q", version, stderr, want)
		}
	}
}

// testOneName checks that a control plane has the same name everywhere, and that its
// context's name is accepted in place of it.
func (u user) testOneName(t *testing.T) {
	for _, name := range []string{"demo", "ctrlplane-demo"} {
		stdout, _ := u.mustRun(t, "--name", name, "status", "-o", "json")
		var status struct{ Process struct{ Name string } }
		if err := json.Unmarshal([]byte(stdout), &status); err != nil || status.Process.Name != "demo" {
			t.Errorf("--name %s: the status names %q, %v", name, status.Process.Name, err)
		}
	}
	context, _ := u.mustRun(t, "--name", "demo", "kubectl", "config", "current-context")
	requireText(t, context, "ctrlplane-demo")
	u.mustRun(t, "--name", "demo", "snapshot", "save", "one")
	list, _ := u.mustRun(t, "snapshot", "list", "-o", "json")
	requireText(t, list, `"plane": "demo"`)
	program.RequireFailure(t, u.command(t, "--name", "ctrlplane-other", "status"), 1, `control plane "other" is not running`, "--name other up")
}
