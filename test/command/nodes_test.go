package command_test

import (
	"bufio"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestNodeFlagErrors checks that a wrong flag of nodes, scheduler and address ranges each
// is reported before anything is created.
func TestNodeFlagErrors(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	testutil.WriteFile(t, config, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n")
	for _, tc := range []struct{ flags, says string }{
		{"--node-pods=1000001", "1000001 pods per node"},
		{"--scheduler-config=" + config, "parallelism"},
		{"--load-balancer-range=10.128.1.0/24", "overlaps with the range of the Pods"},
	} {
		t.Run(tc.flags, func(t *testing.T) {
			t.Parallel()
			cmd := program.Command(t, append([]string{"up", "--ephemeral", "--ui", "none"}, strings.Fields(tc.flags)...)...)
			program.RequireFailure(t, cmd, 2, tc.says)
			if left, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// listNodes returns the output of "nodes list" without ages and Pod ranges, which
// are assigned in any order; or its error, while the control plane starts.
func listNodes(t *testing.T, dir string) string {
	t.Helper()
	stdout, stderr, code := program.Run(t, program.Command(t, "--data-dir", dir, "nodes", "list"))
	if code != 0 {
		return stderr
	}
	var lines []string
	for line := range strings.Lines(stdout) {
		fields := strings.Fields(line)
		fields = slices.DeleteFunc(fields[:len(fields)-1], func(f string) bool { return strings.HasSuffix(f, "/24") })
		lines = append(lines, strings.Join(fields, " "))
	}
	return strings.Join(lines[1:], "\n")
}

// TestNodesVerbs checks that a verb changes all named nodes or none, and that the
// changes survive a restart.
func TestNodesVerbs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	flags := []string{"--nodes", "2", "--node-zones", "2", "--node-cpu", "4", "--node-memory", "8Gi", "--node-pods", "5",
		"--no-scheduler", "--controllers", "namespace"} // a node that fails stays Ready
	p := program.Up(t, dir, flags...)
	in := func(args string) []string {
		return append([]string{"--data-dir", dir, "nodes"}, strings.Fields(args)...)
	}
	for _, tc := range []struct{ args, says string }{
		{"add 0", `"0" is not a number of nodes`},
		{"add -- -1", `"-1" is not a number of nodes`},
		{"add some", `"some" is not a number of nodes`},
		{"add 1 2", "takes one number"},
		{"add 1000000", "at most 10000 can be simulated"},
		{"fail", "missing node name"},
		{"fail node-1 node-9", `node "node-9" does not exist`},
		{"recover ../node-1", `node "../node-1" does not exist`},
		{"terminate node-1 missing", `node "missing" does not exist`},
		{"remove node-2 node-9", `node "node-9" does not exist`},
		{"forget node-1", "unknown verb"},
	} {
		t.Run(tc.args, func(t *testing.T) { program.RequireFailure(t, program.Command(t, in(tc.args)...), 2, tc.says) })
	}
	listed := func(what, want string) {
		t.Helper()
		p.Await(t, what, func() bool { return listNodes(t, dir) == want })
	}
	listed("unharmed", `node-1 True 0/5 4 8Gi zone-a
node-2 True 0/5 4 8Gi zone-b`)
	if got := program.MustRun(t, dir, "nodes", "add", "2"); got != "node-3 added\nnode-4 added\n" {
		t.Errorf("add: %q", got)
	}
	if got := program.MustRun(t, dir, "nodes", "fail", "node-2", "node-3", "node-2"); got != "failed: node-2, node-3\n" {
		t.Errorf("fail: %q", got)
	}
	for _, tc := range []struct{ args, says string }{
		{"fail node-2 node-3", "failed: none (node-2, node-3: failed already)\n"},
		{"recover node-4 node-3", "recovered: node-3\n"},
		{"recover node-3", "recovered: none (node-3: not failed)\n"},
	} {
		if got := program.MustRun(t, dir, append([]string{"nodes"}, strings.Fields(tc.args)...)...); got != tc.says {
			t.Errorf("%s: %q, want %q", tc.args, got, tc.says)
		}
	}
	program.MustRun(t, dir, "nodes", "remove", "node-4", "node-1")
	listed("changed", `node-2 True failed 0/5 4 8Gi zone-b
node-3 True 0/5 4 8Gi zone-a`)
	p.Stop(t, syscall.SIGTERM)
	p = program.Up(t, dir, flags...) // two nodes exist, so none is added
	listed("the same again", `node-2 True failed 0/5 4 8Gi zone-b
node-3 True 0/5 4 8Gi zone-a`)
	program.MustRun(t, dir, "nodes", "recover", "node-2")
	listed("recovered", `node-2 True 0/5 4 8Gi zone-b
node-3 True 0/5 4 8Gi zone-a`)
}

// A Node that a user has failed, a Pod on it and the owner of that say so, and how to undo it. All Nodes being failed is a problem.
func TestWhyNamesAFailedNode(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	up := program.Command(t, "up", "--ui", "plain", "--web", "--data-dir", dir, "--nodes", "1", "--kube-controller-manager-arg", "node-monitor-grace-period=4s")
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, up, dir)
	opened := openPage(t, bufio.NewScanner(out))
	web, client, name := program.CreateWeb(t, dir, 1), p.Client(t), ""
	p.Await(t, "running a Pod", func() bool {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) != 1 || !isReady(&pods.Items[0]) {
			return false
		}
		name = pods.Items[0].Name
		return true
	})
	program.MustRun(t, dir, "nodes", "fail", "node-1")
	nodeIs := func(status corev1.ConditionStatus) func() bool {
		return func() bool {
			node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
			return err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady && c.Status == status })
		}
	}
	p.Await(t, "without news of the node", nodeIs(corev1.ConditionUnknown))
	awaitPod(t, p, name, "not ready", func(pod *corev1.Pod) bool { return hasCondition(pod, corev1.PodReady, corev1.ConditionFalse) })
	for object, query := range map[string]string{
		"node/node-1": "resource=nodes&name=node-1", "pod/" + name: "resource=pods&namespace=default&name=" + name,
		"deployment/" + web: "group=apps&resource=deployments&namespace=default&name=" + web,
	} {
		p.AwaitFailure(t, time.Second, []string{"wait", object}, `: node-1 was failed by "nodes fail": to undo it: `)
		if why := program.MustRun(t, dir, "why", object); !strings.Contains(why, `node-1 was failed by "nodes fail"`) {
			t.Errorf("why %s:\n%s", object, why)
		}
		if why := opened.do(http.StatusOK, http.MethodGet, "api/why?"+query, ""); !strings.Contains(why, `node-1 was failed by \"nodes fail\": to undo it: `) {
			t.Errorf("why %s on the page:\n%s", object, why)
		}
	}
	p.Await(t, "the problem", func() bool {
		status := strings.Join(strings.Fields(program.Status(t, dir)), " ")
		return strings.Contains(status, "1 Node is not Ready") && strings.Contains(status, `Node node-1 not ready`) &&
			strings.Contains(status, `; node-1 was failed by "nodes fail": to undo it: `)
	})
	if _, stderr, code := program.Run(t, program.Command(t, "--data-dir", dir, "wait", "settled")); code != 0 || !strings.Contains(stderr, "settled, but 1 Node is not Ready: node-1\n") {
		t.Errorf("wait settled: %d, %s", code, stderr)
	}
	program.MustRun(t, dir, "nodes", "recover", "node-1")
	p.Await(t, "with news of the node", nodeIs(corev1.ConditionTrue))
	p.Await(t, "the recovery", func() bool { return !strings.Contains(program.Status(t, dir), "not Ready") })
}

// loadBalancerAddress is the only one that the control plane of testLoadBalancerRangeExhausted has.
const loadBalancerAddress = "198.51.100.9"

// testLoadBalancerRangeExhausted checks that a Service without an address says why,
// and gets the first address that is released.
func testLoadBalancerRangeExhausted(t *testing.T, p *program.ControlPlane) {
	services := p.Client(t).CoreV1().Services("default")
	expose := func(name string) {
		t.Helper()
		spec := corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}
		if _, err := services.Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	address := func(name string) (all string) {
		t.Helper()
		service, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			all += ingress.IP
		}
		return all
	}
	expose("first")
	p.Await(t, "an address", func() bool { return address("first") == loadBalancerAddress })
	expose("second")
	awaitEvent(t, p, "second", "all addresses of "+loadBalancerAddress+"/32 are in use")
	if got := address("second"); got != "" {
		t.Errorf("the second Service has an address that is in use: %q", got)
	}
	if err := services.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "the address that came free", func() bool { return address("second") == loadBalancerAddress })
}
