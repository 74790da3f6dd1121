package command_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestLoopbackIsDown starts where no program can connect to the API server.
func TestLoopbackIsDown(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespace of its own can be made here: %v %s", err, out)
	}
	inside := program.Command(t, append([]string{"run"}, minimal("--", "true")...)...)
	cmd := exec.Command("unshare", append([]string{"-rn"}, inside.Args...)...)
	cmd.Env, cmd.Dir = inside.Env, inside.Dir
	program.RequireFailure(t, cmd, 125, "no program can connect to 127.0.0.1:", ": network is unreachable: bring its network interface up, as with \"ip link set lo up\"")
}

// TestServesAllAddressesWithoutNetwork listens on all addresses of a machine that has no
// default route, as in a container without a network.
func TestServesAllAddressesWithoutNetwork(t *testing.T) {
	t.Parallel()
	const loopbackUp = "ip link set lo up"
	if out, err := exec.Command("unshare", "-rn", "sh", "-c", loopbackUp).CombinedOutput(); err != nil {
		t.Skipf("no network namespace of its own can be made here: %v %s", err, out)
	}
	inside := program.Command(t, append([]string{"run"}, minimal("--bind-address", "0.0.0.0", "--", program.Path(), "kubectl", "get", "namespaces", "-o", "name")...)...)
	cmd := exec.Command("unshare", append([]string{"-rn", "sh", "-c", loopbackUp + ` && exec "$@"`, "sh"}, inside.Args...)...)
	cmd.Env, cmd.Dir = inside.Env, inside.Dir
	out, stderr, code := program.Run(t, cmd)
	if code != 0 || !strings.Contains(out, "namespace/kube-system") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}
