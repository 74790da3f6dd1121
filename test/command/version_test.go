package command_test

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// TestPlainBuildKnowsItsVersions checks that server and kubectl say which release they
// are, without flags of the linker. At its end, the command fails to stop and delete its control plane.
func TestPlainBuildKnowsItsVersions(t *testing.T) {
	t.Parallel()
	script := `"$0" kubectl version -o json && "$0" kubectl get --raw /metrics | grep '^kubernetes_build_info' && { "$0" down; echo $?; "$0" delete --force run; echo $?; }`
	out, stderr, code := program.Run(t, program.Command(t, append([]string{"run"}, minimal("--", "sh", "-c", script, program.Path())...)...))
	if !strings.HasSuffix(out, "\n1\n1\n") {
		t.Errorf("down and delete did not both fail with exit code 1:\n%s", out)
	}
	requireText(t, stderr, "belongs to the run or test that has started this command")
	if code != 0 || strings.Count(out, `"gitVersion": "`+upstreamversion.Kubernetes+`"`) != 2 || !strings.Contains(out, `git_version="`+upstreamversion.Kubernetes+`"`) {
		t.Errorf("exit code %d, %s\n%s", code, stderr, out)
	}
	if strings.Contains(out, "$Format") || strings.Contains(out, "1970-01-01") {
		t.Errorf("placeholders of upstream's source are left:\n%s", out)
	}
}
