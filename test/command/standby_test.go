package command_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
	"github.com/ctrlplane/ctrlplane/observe"
)

// process returns what a control plane says of itself.
func process(t *testing.T, p *program.ControlPlane) observe.Process {
	t.Helper()
	s, err := p.Control(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Process
}

// A control plane that waits for the lease of another one says so, and refuses what would have
// no effect there.
func TestStandby(t *testing.T) {
	t.Parallel()
	first := newSnapshotFixture(t)
	up := []string{"--nodes", "1", "--etcd-endpoints", startEtcd(t), "--leader-elect"}
	p := first.startUp(up...)
	p.Await(t, "leading", func() bool { return process(t, p).Leader == observe.LeaderOwn })
	second := first.besides()
	q := second.startUp(up...)
	q.Await(t, "the leader", func() bool { return process(t, q).LeaseHolder != "" })
	status, holder := second.status(), regexp.MustCompile(`the controllers run in (\S+), which holds the lease`)
	if !holder.MatchString(strings.Join(strings.Fields(status), " ")) {
		t.Errorf("no holder of the lease in\n%s", status)
	}
	requireContains(t, status, "on standby")
	if p := process(t, q); p.Leader != observe.LeaderOther || !strings.Contains(p.LeaseHolder, "_data_") || p.Settled {
		t.Errorf("second: %+v", p)
	}
	if p := process(t, p); p.Leader != observe.LeaderOwn || !strings.Contains(p.LeaseHolder, "_data_") {
		t.Errorf("first: %+v", p)
	}
	program.WaitSettled(t, first.dir)

	q.AwaitFailure(t, time.Second, []string{"wait", "settled"}, "control plane: on standby: the controllers run in")
	for _, args := range []string{"controllers pause deployment-controller", "nodes fail node-1"} {
		program.RequireFailure(t, second.command(strings.Fields(args)...), 1, refusedOnStandby...)
	}
	requireRefusedOnStandby(t, q)
	if log := second.mustRun("controllers"); !strings.Contains(log, "on standby") {
		t.Errorf("controllers:\n%s", log)
	}
	requireContains(t, first.mustRun("nodes"), "node-1")
	first.mustRun("kubectl", "run", "p", "-n", "default", "--image=busybox", "--command", "--", "sh", "-c", "echo from the leader; sleep 1d")
	p.Await(t, "the log", func() bool {
		log, _ := first.command("kubectl", "logs", "-n", "default", "p").Output()
		return strings.Contains(string(log), "from the leader")
	})
	for _, args := range []string{"logs -n default p", "exec -n default p -- true", "port-forward -n default p :80"} {
		_, stderr, code := program.Run(t, second.command(append([]string{"kubectl"}, strings.Fields(args)...)...))
		if requireContains(t, stderr, "this control plane is on standby", "use that of the leader"); code != 1 {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
	answer, err := second.newClient().CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/pods/p/proxy/").DoRaw(t.Context())
	requireContains(t, fmt.Sprintf("%s, %v", answer, err), "this control plane is on standby", "use that of the leader")
	first.mustRun("snapshot", "save", "base")
	program.RequireFailure(t, first.command("snapshot", "restore", "base"), 2, "with --leader-elect other processes act on the same state")

	p.Stop(t, syscall.SIGTERM)
	q.Await(t, "the lease", func() bool { return process(t, q).Leader == observe.LeaderOwn })
	program.WaitSettled(t, second.dir)
	second.mustRun("controllers", "pause", "deployment-controller")
	requireContains(t, second.mustRun("nodes"), "node-1")
	nodes, err := second.newClient().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("%d nodes, %v; want 1", len(nodes.Items), err)
	}
}

// refusedOnStandby is what a control plane on standby says of what would have no effect there.
var refusedOnStandby = []string{"this control plane is on standby: the controllers run in", "use that of the leader"}

// requireRefusedOnStandby checks what the verbs of controllers and nodes ask for.
func requireRefusedOnStandby(t *testing.T, p *program.ControlPlane) {
	t.Helper()
	ctx, on := t.Context(), p.Control(t)
	names, second := []string{"deployment-controller"}, func(_ any, err error) error { return err }
	for what, err := range map[string]error{
		"stop":      second(on.Interventions().Stop(ctx, []string{control.All})),
		"delay":     second(on.Interventions().Delay(ctx, names, time.Second)),
		"step":      second(on.Interventions().Step(ctx, names[0])),
		"fail":      second(on.Interventions().Fail(ctx, names, control.Fault{Rate: 1, Code: "500"})),
		"scale":     second(on.Interventions().Scale(ctx, names, 2)),
		"speed":     on.SpeedControl().SetSpeed(ctx, observe.SpeedHalf),
		"nodes":     second(on.Nodes().List(ctx)),
		"nodes add": second(on.Nodes().Add(ctx, 1)),
	} {
		if err == nil {
			t.Errorf("%s is not refused", what)
			continue
		}
		requireContains(t, err.Error(), refusedOnStandby...)
	}
}
