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
		cmd.Stdin = strings.NewReader(`{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: default}, data: {k: "` + value + `", l: "0", m: "` + value + `"}}`)
		_, stderr, code = program.Run(t, cmd)
		return stderr, code
	}
	if stderr, code := apply("flux", "1"); code != 0 {
		t.Fatal(stderr)
	}
	if stderr, code := apply("argo", "2"); code == 0 || !strings.Contains(stderr, `conflicts with "flux"`) {
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
		for _, want := range []string{"patched ConfigMap shared as field manager argo (version ", "the apply forced conflicts with field manager flux: data.k, data.m"} {
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
	testRefusedCreation(t, p)
	testMigration(t, p)
	testForcedLabel(t, p)
}

// testRefusedCreation checks that an apply that is refused was to create its object, or to change it, by all that may refuse it.
func testRefusedCreation(t *testing.T, p *program.ControlPlane) {
	config := func(namespace, name, data string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `, namespace: ` + namespace + `}, data: {` + data + `}}`
	}
	applyText(t, p, config("default", "kept", `k: "1"`), "--server-side")
	for about, tc := range map[string]struct{ namespace, data, verb string }{
		"absent":  {"default", `"no/key": ""`, "create"}, // by the validation
		"kept":    {"default", `"no/key": ""`, "patch"},
		"nowhere": {"absent", `k: ""`, "create"}, // by the first plugin of all
	} {
		cmd := program.Command(t, "--data-dir", p.Dir, "kubectl", "apply", "--server-side", "-f", "-")
		cmd.Stdin = strings.NewReader(config(tc.namespace, about, tc.data))
		if _, stderr, code := program.Run(t, cmd); code == 0 {
			t.Errorf("%s was applied: %s", about, stderr)
		}
		got := program.MustRun(t, p.Dir, "why", "cm/"+about, "-n", tc.namespace)
		if want := " failed to " + tc.verb + " ConfigMap " + about + ": 4"; !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// testMigration checks that kubectl's migration from a client-side apply forces no conflicts, though it takes fields.
func testMigration(t *testing.T, p *program.ControlPlane) {
	for _, args := range [][]string{{"1"}, {"2", "--server-side"}} {
		applyText(t, p, `{apiVersion: v1, kind: ConfigMap, metadata: {name: migrated, namespace: default}, data: {k: "`+args[0]+`", l: "0"}}`, args[1:]...)
	}
	if got := program.MustRun(t, p.Dir, "trace", "cm/migrated"); strings.Contains(got, "forced conflicts") {
		t.Errorf("a migration:\n%s", got)
	}
}

// testForcedLabel checks that the conflict in a label of a Namespace is named.
func testForcedLabel(t *testing.T, p *program.ControlPlane) {
	for _, manager := range []string{"flux", "argo"} {
		applyText(t, p, `{apiVersion: v1, kind: Namespace, metadata: {name: forced, labels: {team: `+manager+`}}}`, "--server-side", "--force-conflicts", "--field-manager", manager)
	}
	if got := strings.Join(strings.Fields(program.MustRun(t, p.Dir, "trace", "ns/forced")), " "); !strings.Contains(got, "the apply forced conflicts with field manager flux: metadata.labels.team") {
		t.Errorf("of a Namespace:\n%s", got)
	}
}

// applyText applies an object with kubectl.
func applyText(t *testing.T, p *program.ControlPlane, object string, flags ...string) {
	t.Helper()
	cmd := program.Command(t, append([]string{"--data-dir", p.Dir, "kubectl", "apply", "-f", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(object)
	if _, stderr, code := program.Run(t, cmd); code != 0 {
		t.Fatal(stderr)
	}
}
