package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// complete returns what a shell would suggest for the last argument.
func (u user) complete(t *testing.T, args ...string) []string {
	t.Helper()
	stdout, _ := u.mustRun(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, ":") {
		t.Fatalf("%v: no directive: %q", args, stdout)
	}
	var values []string
	for _, line := range lines[:len(lines)-1] {
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	return values
}

// testCompletion completes what there is in the control plane demo, which only this test has used.
func (u user) testCompletion(t *testing.T, p *program.ControlPlane) {
	u.mustRun(t, "--name", "demo", "kubectl", "create", "configmap", "first", "--namespace", "kube-system")
	u.mustRun(t, "--name", "demo", "snapshot", "save", "base")
	u.mustRun(t, "--name", "demo", "controllers", "pause", "job")
	for _, tc := range []struct {
		args string // "_" is an empty one
		want string // all suggestions; with "…", some of them
	}{
		{"down _", "demo"},
		{"down demo _", ""},
		{"delete d", "demo"},
		{"--name _", "demo"},
		{"up --from _", "base"},
		{"snapshot restore _", "base"},
		{"snapshot diff b", "base"},
		{"nodes fail _", "node-1"},
		{"controllers pause replicas", "replicaset-controller"},
		{"controllers resume _", "job-controller"},
		{"controllers resume job-controller _", ""},
		{"controllers fail --resource configm", "configmaps"},
		{"clients pause ku", "kubectl"},
		{"clients resume _", ""},
		{"clients delay kubectl _", filepath.Base(os.Args[0])}, // the client of this test
		{"trace configm", "configmaps"},
		{"trace -n kube-system configmap fi", "first"},
		{"trace -n kube-system cm/fi", "cm/first"},
		{"trace -n kube-system cm/first _", ""},
		{"trace -n kube-s", "kube-system"},
		{"trace --controller replicas", "replicaset-controller"},
		{"trace --controller kubec", "kubectl"},
		{"wait serv", "services serviceaccounts…"},
		{"kubectl get configm", "configmaps"},
		{"kubectl -n kube-system get configmaps fi", "first"},
	} {
		args := strings.Fields(tc.args)
		if last := len(args) - 1; args[last] == "_" {
			args[last] = ""
		}
		var got []string
		p.Await(t, "completing "+tc.args, func() bool {
			got = u.complete(t, args...)
			return len(got) > 0 || tc.want == "" // a request that takes more than 2 s has no suggestions, and no error
		})
		some, found := strings.CutSuffix(tc.want, "…")
		want := strings.Fields(some)
		if !found && !slices.Equal(got, want) || slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) }) {
			t.Errorf("%s: got %q, want %q", tc.args, got, tc.want)
		}
	}
}

// TestCompletionInBash checks the line that the help gives for bash.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	cmd := u.command(t)
	cmd.Path, cmd.Args = bash, []string{"bash", "-c", `source <("$0" completion bash) && complete -p ctrlplane`, program.Path()}
	stdout, stderr, code := program.Run(t, cmd)
	if code != 0 || !strings.Contains(stdout, "__start_ctrlplane") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
