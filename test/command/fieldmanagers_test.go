package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testFieldManagers checks that two field managers of one program are told apart, and which conflicts an apply forces.
func testFieldManagers(t *testing.T, p *program.ControlPlane) {
	apply := func(manager, value string, flags ...string) (stderr string, code int) {
		cmd := program.Command(t, append([]string{"--data-dir", p.Dir, "kubectl", "apply", "--server-side", "--field-manager", manager, "-f", "-"}, flags...)...)
		cmd.Stdin = strings.NewReader(`{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: default}, data: {k: "` + value + `", l: "0"}}`)
		_, stderr, code = program.Run(t, cmd)
		return stderr, code
	}
	if stderr, code := apply("flux", "1"); code != 0 {
		t.Fatal(stderr)
	}
	if stderr, code := apply("argo", "2"); code == 0 || !strings.Contains(stderr, `conflict with "flux"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if clients := program.MustRun(t, p.Dir, "clients"); !strings.Contains(strings.Join(strings.Fields(clients), " "), "409 fields of another manager") {
		t.Errorf("clients:\n%s", clients)
	}
	if stderr, code := apply("argo", "2", "--force-conflicts"); code != 0 {
		t.Fatal(stderr)
	}
	for _, args := range [][]string{{"why", "cm/shared", "--changed"}, {"trace", "cm/shared"}} {
		got := program.MustRun(t, p.Dir, args...)
		flat := strings.Join(strings.Fields(got), " ")
		for _, want := range []string{"patched ConfigMap shared as field manager argo (version ", "the apply forced conflicts with field manager flux: data.k"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%s: no %q in:\n%s", args[0], want, got)
			}
		}
		if strings.Contains(flat, "data.l") {
			t.Errorf("%s: names a field that both managers have applied:\n%s", args[0], got)
		}
	}
	if got := strings.Join(strings.Fields(program.MustRun(t, p.Dir, "trace", "cm/shared")), " "); !strings.Contains(got, "failed to patch ConfigMap shared as field manager argo: 409") {
		t.Errorf("trace does not name the manager whose apply was refused:\n%s", got)
	}
}
