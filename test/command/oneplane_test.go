package command_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestOnOneControlPlane runs tests one after another on one control plane, which has the flags that
// each of them needs. The first one expects that it settles.
func TestOnOneControlPlane(t *testing.T) {
	t.Parallel()
	p := program.Up(t, filepath.Join(t.TempDir(), "data"), "--controllers=*,-cronjob,-ttl", "--log-format=json",
		"--kube-controller-manager-arg=concurrent-job-syncs=7", "--load-balancer-range="+loadBalancerAddress+"/32")
	for _, tc := range []struct {
		name string
		test func(*testing.T, *program.ControlPlane)
	}{
		{"status", testStatus},
		{"read-only verbs", testReadOnlyVerbs},
		{"explain", testExplain},
		{"field managers", testFieldManagers},
		{"addresses of load balancers", testLoadBalancerRangeExhausted},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, p) })
	}
	requireCleanStop(t, p, syscall.SIGINT)
}
