//go:build !windows

package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestSpeed slows down a control plane and steps through what follows one Deployment.
// Each key of controllers, scheduler and kubelets waits for its turn; nodes stay alive.
func TestSpeed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir, "--nodes", "1")
	for args, says := range map[string]string{
		"speed 2":    `speed "2": choose one of 1, 1/2, 1/5, 1/10, step`,
		"speed 1 2":  "controllers speed takes one speed",
		"speed next": `the speed is 1×: set it to "step" first`,
	} {
		program.RequireFailure(t, program.Command(t, append([]string{"--data-dir", dir, "controllers"}, strings.Fields(args)...)...), 2, says)
	}
	do := func(args ...string) string {
		return program.MustRun(t, dir, append([]string{"controllers", "speed"}, args...)...)
	}
	if got := do("step"); got != "speed: step by step\n" {
		t.Errorf("got %q", got)
	}
	name := program.CreateWeb(t, dir, 2)
	first, found := strings.CutPrefix(do("next"), "released: ")
	controller, _, _ := strings.Cut(first, " ")
	if !found {
		t.Errorf("got %q", first)
	}
	released := map[string]bool{controller: true}
	// Every controller of the story works on a key that a step has released. The limit is
	// far above the number of steps that it takes.
	speed := p.Control(t).SpeedControl()
	for range 200 {
		if released["deployment-controller"] && released["replicaset-controller"] && released["kube-scheduler"] && released["simulated-kubelet"] {
			break
		}
		key, err := speed.StepKey(t.Context())
		if err != nil || key == nil {
			t.Fatalf("released %v, %v", key, err)
		}
		released[key.Controller] = true
	}
	if !released["simulated-kubelet"] {
		t.Fatalf("steps have released keys of %v only", released)
	}
	var s struct {
		Process struct{ Speed string }
		Queues  []struct{ Controller string }
	}
	if err := json.Unmarshal([]byte(program.Status(t, dir, "-o", "json")), &s); err != nil || s.Process.Speed != "step" {
		t.Errorf("speed %q, %v", s.Process.Speed, err)
	}
	if got := do("1/2"); got != "speed: ½×\n" {
		t.Errorf("got %q", got)
	}
	program.MustRun(t, dir, "wait", "deployment", name, "--timeout", "5m") // the keys that have waited proceed
	if got := program.MustRun(t, dir, "kubectl", "get", "nodes", "--no-headers"); !strings.Contains(got, " Ready ") {
		t.Errorf("nodes: %s", got)
	}
	if got := do("1") + do(); got != "speed: 1×\nspeed: 1×\n" {
		t.Errorf("got %q", got)
	}
	requireSuspendedEnds(t, p)
}
