//go:build !windows

package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestInterventionErrors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	program.Up(t, dir)
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"pause replicasett", 2, `unknown controller "replicasett": did you mean "replicaset"?`},
		{"held replicaset", 2, "controller replicaset-controller is not paused: pause it first"},
		{"fail replicaset --resource podz", 2, `resource "podz": unknown: "kubectl api-resources" lists them`},
		{"step replicaset", 2, "controller replicaset-controller is not paused: pause it first"},
		{"step replicaset --until settled", 2, "controller replicaset-controller is not paused: pause it first"},
		{"step replicaset 3 --until settled", 2, "exclude each other"},
		{"step replicaset --until tomorrow", 2, `--until: unknown state "tomorrow": use settled`},
		{"step replicaset --timeout 0s", 2, "--timeout: 0s is not positive"},
		{"step replicaset --until settled --timeout 0s", 2, "--timeout: 0s is not positive"},
		{"step replicaset none", 2, `"none" is not a number of writes`},
		{"step replicaset -o wide", 2, `--output: unknown format "wide": use json or yaml`},
		{"step", 2, "takes the name of a controller and a number of writes"},
		{"scale replicaset", 2, "missing number of workers: use --workers 3"},
		{"scale --workers 3", 2, "missing controller name"},
		{"scale replicaset --workers few", 2, "--workers"},
		{"scale replicaset --workers 0", 2, "--workers 0: not a number of workers"},
		{"scale endpointslice --workers 51", 2, "concurrent-service-endpoint-syncs must not be more than 50, but got 51"},
		{"scale ttl --workers 3", 2, "controller ttl-controller: its number of workers is fixed: upstream has no flag for it"},
		{"-o xml", 2, `--output: unknown format "xml": use wide, json, yaml or name`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			program.RequireFailure(t, program.Command(t, append([]string{"--data-dir", dir, "controllers"}, strings.Fields(tc.args)...)...), tc.code, tc.says)
		})
	}
}

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

// controllerList is the part of "controllers -o json" that the test checks.
type controllerList struct {
	Items []struct {
		Name, State, Reason string
		Held, Depth         int
		Workers             map[string]int
	}
}

// TestInterventionVerbs runs each verb that intervenes in a controller.
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
	do("controllers", "pause", "replicaset")
	do("controllers", "pause", "replicaset-controller") // a second time changes nothing
	name := program.CreateWeb(t, dir, 3)
	says(do("controllers", "step", "replicaset"), "create Pod default/"+name, ": 201 Created\n--- /dev/null\n+++ Pod default/"+name, "\n+kind: Pod\n")
	var stepped struct {
		Verb          string
		Status        int
		Before, After map[string]any
	}
	if err := json.Unmarshal([]byte(do("controllers", "step", "replicaset", "-o", "json")), &stepped); err != nil {
		t.Fatal(err)
	}
	if stepped.Verb != "create" || stepped.Status != 201 || stepped.Before != nil || stepped.After["kind"] == nil {
		t.Errorf("%+v", stepped)
	}
	says(do("status"), "changed manually: replicaset-controller (paused)", " held")

	var asJSON, asYAML controllerList
	if err := json.Unmarshal([]byte(do("controllers", "-o", "json")), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(do("controllers", "-o", "yaml")), &asYAML); err != nil {
		t.Fatal(err)
	}
	for _, list := range []controllerList{asJSON, asYAML} {
		found := false
		for _, c := range list.Items {
			found = found || c.Name == "replicaset-controller" && c.State == "paused" && c.Reason == "its writes are held" && c.Held > 0 && c.Workers["replicaset"] == 5
		}
		if !found {
			t.Errorf("%+v", list)
		}
	}
	says(do("controllers", "-o", "wide"), "CONFLICTS", " held")

	says(do("controllers", "step", "replicaset", "--until", "settled"), "update ReplicaSet default/"+name, "-  replicas: 0\n", "+  replicas: 3\n")
	says(do("kubectl", "get", "deployment", name), "3/3")
	says(do("controllers", "held", "replicaset", "-o", "json"), `"total": 0`)
	says(do("controllers", "held", "replicaset"), "no writes are held")
	_, stderr, code := program.Run(t, program.Command(t, "--data-dir", dir, "controllers", "step", "rs", "2", "--timeout", "3s"))
	if lines := strings.Split(stderr, "\n"); code != 1 || len(lines) != 3 || lines[1] != "ctrlplane: timed out after 3s: 0 of 2 writes done" {
		t.Errorf("a step without a write: exit code %d: %q", code, lines)
	}
	requireInterruptedStep(t, dir)
	do("wait", "deployment", name)
	do("controllers", "resume", "--all")

	do("controllers", "fail", "deployment", "--rate", "0.5")
	do("controllers", "scale", "deployment", "--workers", "2")
	says(do("status"), "deployment-controller (50% of its calls fail: 500, 2 workers in place of 5)")
	says(do("controllers", "clear", "deployment"), "cleared: deployment-controller\n")
	says(do("controllers", "restore", "--all"), "cleared: none\n") // the former name of clear
	says(do("controllers", "resume", "deployment"), "resumed: none (deployment-controller: not paused)\n")
	says(do("controllers", "start", "deploy"), "started: none (deployment-controller: running already)\n")
	do("controllers", "stop", "deployment")
	says(do("status"), "changed manually: deployment-controller (stopped)")
	p.AwaitFailure(t, []string{"wait", "deployment/misspelt", "--timeout", "200ms"},
		"deployment-controller is stopped, which may be why", "controllers start deployment-controller")
	for _, verb := range []string{"trace", "why"} {
		program.RequireFailure(t, program.Command(t, "--data-dir", dir, verb, "deployment/misspelt"), 1,
			"Deployment default/misspelt: no such object, now or in the recorded history")
	}
	do("controllers", "start", "deployment")

	do("controllers", "pause", "--all")
	program.CreateWeb(t, dir, 3)
	if p.Stop(t, syscall.SIGTERM); p.Cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("exit code %d with writes held: %s", p.Cmd.ProcessState.ExitCode(), p.Stderr)
	}
	program.Up(t, dir)
	if text := do("status"); strings.Contains(text, "changed manually") {
		t.Errorf("an intervention outlives the process:\n%s", text)
	}
}
