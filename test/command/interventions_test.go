//go:build !windows

package command_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

// requireInterruptedStep checks that step says what it waits for, and how far it came
// when Ctrl-C ends it. No write of the paused replicaset controller may be held.
func requireInterruptedStep(t *testing.T, dir string) {
	t.Helper()
	out := &lineBuffer{}
	cmd := program.Command(t, "--data-dir", dir, "controllers", "step", "rs", "2")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `exec "$0" "$@" 2>&1`}, cmd.Args...)
	cmd.Stdout = out
	step := &outputFollower{program.Start(t, cmd, dir), out}
	step.awaitText(t, "ctrlplane: no write of replicaset-controller is held: waiting for its next write; Ctrl-C stops waiting")
	step.Stop(t, syscall.SIGINT)
	if lines := out.wholeLines(); len(lines) != 2 || lines[1] != "ctrlplane: interrupted: 0 of 2 writes done" {
		t.Errorf("an interrupted step: %q", lines)
	}
}

// requireStepTimeout checks that step says what it waits for, and how far it came when --timeout ends
// it. No write of the paused replicaset controller may be held.
func requireStepTimeout(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	p.AwaitTimeout(t, time.Second, []string{"controllers", "step", "rs", "2"}, func(stderr string, timeout time.Duration) bool {
		return stderr == "ctrlplane: no write of replicaset-controller is held: waiting for its next write; Ctrl-C stops waiting\n"+
			fmt.Sprintf("ctrlplane: timed out after %v: 0 of 2 writes done\n", timeout)
	})
}

// controllerList is the part of "controllers -o json" that the test checks.
type controllerList struct {
	Items []struct {
		Name, State, Reason string
		Held, Depth         int
		Workers             map[string]int
		Interventions       observe.Interventions
	}
}

// TestInterventionVerbs runs each verb that intervenes in a controller, and then restarts the control plane.
func TestInterventionVerbs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir)
	do := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := program.Run(t, program.Command(t, append([]string{"--data-dir", dir}, args...)...))
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		return stdout
	}
	says := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	for args, want := range map[string]string{
		"pause replicasett":               `unknown controller "replicasett": did you mean "replicaset"?`,
		"pause kubelet":                   "simulated-kubelet is not a controller: ",
		"held replicaset":                 "controller replicaset-controller is not paused: pause it first",
		"step replicaset":                 "controller replicaset-controller is not paused: pause it first",
		"step replicaset --until settled": "controller replicaset-controller is not paused: pause it first",
	} {
		program.RequireFailure(t, program.Command(t, append([]string{"--data-dir", dir, "controllers"}, strings.Fields(args)...)...), 2, want)
	}
	do("controllers", "pause", "replicaset")
	do("controllers", "pause", "replicaset-controller") // a second time changes nothing
	name := program.CreateWeb(t, dir, 3)
	says(do("controllers", "step", "replicaset"), "--- /dev/null\n+++ Pod default/"+name, "\n+kind: Pod\n", "\ncreate Pod default/"+name, ": 201 Created\n")
	var stepped struct {
		Verb          string
		Status        int
		Before, After map[string]any
	}
	testutil.DecodeJSON(t, do("controllers", "step", "replicaset", "-o", "json"), &stepped)
	if stepped.Verb != "create" || stepped.Status != 201 || stepped.Before != nil || stepped.After["kind"] == nil {
		t.Errorf("%+v", stepped)
	}
	p.Await(t, "holding the next write", func() bool {
		held, err := p.Control(t).Interventions().HeldWrites(t.Context(), "replicaset-controller", 1)
		if err != nil {
			t.Fatal(err)
		}
		return held.Total > 0
	})
	says(do("status"), "changed manually: replicaset-controller (paused)", " held")

	var list controllerList
	testutil.DecodeJSON(t, do("controllers", "-o", "json"), &list)
	found := false
	for _, c := range list.Items {
		found = found || c.Name == "replicaset-controller" && c.State == "paused" && c.Reason == "its writes are held" && c.Interventions.Paused && c.Held > 0 && c.Workers["replicaset"] == 5
	}
	if !found {
		t.Errorf("%+v", list)
	}
	says(do("controllers", "-o", "wide"), "CONFLICTS", " held")

	says(do("controllers", "step", "replicaset", "--until", "settled"), "update ReplicaSet default/"+name, "-  replicas: 0\n", "+  replicas: 3\n")
	if d, err := p.Client(t).AppsV1().Deployments("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil || d.Status.ReadyReplicas != 3 {
		t.Errorf("%d Pods are ready, %v", d.Status.ReadyReplicas, err)
	}
	says(do("controllers", "held", "replicaset"), "no writes are held")
	requireStepTimeout(t, p)
	requireInterruptedStep(t, dir)
	do("controllers", "resume", "--all")
	says(do("trace", "deployment/"+name), "(held ")

	says(do("controllers", "fail", "deployment", "--rate", "0.5"), "fault injected (50% of its calls fail: 500): deployment-controller\n")
	says(do("controllers", "scale", "deployment", "--workers", "2"), "scaled to 2 workers: deployment-controller\n")
	says(do("status"), "deployment-controller (50% of its calls fail: 500, 2 workers in place of 5)")
	says(do("controllers", "clear", "deployment"), "cleared: deployment-controller\n")
	says(do("controllers", "clear", "--all"), "cleared: none\n")
	says(do("controllers", "resume", "deployment"), "resumed: none (deployment-controller: not paused)\n")
	says(do("controllers", "start", "deploy"), "started: none (deployment-controller: running already)\n")
	do("controllers", "stop", "deployment")
	says(do("status"), "changed manually: deployment-controller (stopped)")
	p.AwaitFailure(t, 200*time.Millisecond, []string{"wait", "deployment/misspelt"},
		"deployment-controller is stopped, which may be why", "controllers start deployment-controller")
	for _, verb := range []string{"trace", "why"} {
		program.RequireFailure(t, program.Command(t, "--data-dir", dir, verb, "deployment/misspelt"), 1,
			"Deployment default/misspelt: no such object, now or in the recorded history")
	}
	do("controllers", "start", "deployment")

	do("controllers", "pause", "--all")
	program.CreateWeb(t, dir, 1)
	restartKeepsCluster(t, p, func() {
		if p.Stop(t, syscall.SIGTERM); p.Cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("exit code %d with writes held: %s", p.Cmd.ProcessState.ExitCode(), p.Stderr)
		}
	})
	if text := do("status"); strings.Contains(text, "changed manually") {
		t.Errorf("an intervention outlives the process:\n%s", text)
	}
}
