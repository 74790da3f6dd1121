package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// Many Deployments are made, scaled and deleted at once, while the other
// tests run. Names tell what is true: all that comes of Deployment l7 bears a name
// that begins with l7. Whatever a trace is certain of is so, and 95 in a hundred
// of the controllers' writes are in the trace of the right one.
func TestTraceIsAccurateUnderLoad(t *testing.T) {
	t.Parallel()
	const many = 12
	ns, src := createNamespace(t), newRemoteClient(t)
	start, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { exerciseDeployment(t, ns, fmt.Sprintf("l%d", i), i%2 == 0) })
	}
	all.Wait()
	await(t, "end of the Pods of those that are deleted", listPods(ns), func(l []corev1.Pod) bool { return len(l) == many/2*4 })

	q := trace.Query()
	q.After = start.Journal.Last
	page, err := src.Records(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if page.Missed > 0 {
		t.Skipf("%d records have gone: the other tests made too many", page.Missed)
	}
	found := map[string]string{} // node → the Deployment in whose trace it is
	nodes := map[string]*trace.Node{}
	exact, likely := 0, 0
	for i := range many {
		about := deploymentObject(ns, fmt.Sprintf("l%d", i))
		tree, err := trace.Build(page.Records, about, trace.Options{All: true})
		if errors.Is(err, trace.ErrNoRecords) {
			t.Errorf("%s is not in the records", about.Name)
			continue
		}
		byID := map[string]*trace.Node{}
		for n := range tree.All() {
			byID[n.ID], nodes[n.ID] = n, n
			found[n.ID] = about.Name
			if n.Cause == nil || byID[n.Cause.ID] == nil {
				continue
			}
			if n.Cause.Certainty != trace.Exact {
				likely++
				continue
			}
			exact++
			its, of := deploymentOf(n), deploymentOf(byID[n.Cause.ID])
			if its != "" && of != "" && its != of {
				t.Errorf("%s of %s is said to come of that of %s for certain, by %s:\n%s\n%s", n.Kind, its, of, n.Cause.Rule,
					toYAML(withoutChildren(n)), toYAML(withoutChildren(byID[n.Cause.ID])))
			}
		}
	}
	right, writes := 0, 0
	for _, r := range page.Records {
		c, ok := r.Event.(*observe.Called)
		if !ok || c.Object.Namespace != ns || !c.IsWrite() || c.IsRoutine() || !strings.HasPrefix(c.Object.Name, "l") {
			continue
		}
		writes++
		id := fmt.Sprintf("r%d", r.Seq)
		if name, _, _ := strings.Cut(c.Object.Name, "-"); found[id] == name {
			right++
		} else {
			t.Logf("%s of %s is in the trace of %q%s", c.Verb, c.Object, found[id], explainMisplaced(nodes, id))
		}
	}
	t.Logf("%d of %d writes are in the right trace; %d links are exact, %d likely", right, writes, exact, likely)
	if writes < 10*many || right*100 < writes*95 {
		t.Errorf("%d of %d writes are in the trace of the right Deployment, want 95 %%", right, writes)
	}
}

// explainMisplaced tells where the way up from a node leaves what its name tells.
func explainMisplaced(nodes map[string]*trace.Node, id string) string {
	for n := nodes[id]; n != nil && n.Cause != nil; n = nodes[n.Cause.ID] {
		if up := nodes[n.Cause.ID]; up != nil && deploymentOf(n) != deploymentOf(up) {
			return fmt.Sprintf(", by way of %s %s (%s of %s, %s)", n.Kind, n.ID, n.Queue, n.Controller, n.Cause.Rule)
		}
	}
	return ""
}

// withoutChildren is a node without what came of it.
func withoutChildren(n *trace.Node) trace.Node {
	c := *n
	c.Children = nil
	return c
}

// exerciseDeployment makes a Deployment, scales it and, unless it stays, deletes it.
func exerciseDeployment(t *testing.T, ns, name string, stays bool) {
	labels := map[string]string{"app": name}
	d := newDeployment("registry.invalid/app:1")
	d.Name, d.Spec.Replicas = name, new(int32(2))
	d.Spec.Selector, d.Spec.Template.Labels = labelSelector(labels), labels
	createObject(t, deployments(ns), d)
	awaitPods(t, ns, "app="+name, 2)
	updateObject(t, deployments(ns), name, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	awaitPods(t, ns, "app="+name, 4)
	if !stays {
		deleteObject(t, deployments(ns), name)
	}
}

// deploymentOf is the Deployment that a node is about; empty if its name does not tell.
func deploymentOf(n *trace.Node) string {
	name := n.Key
	if n.Object != nil {
		name = n.Object.Name
	} else if n.KeyBasis != observe.BasisLog {
		return ""
	}
	name = name[strings.Index(name, "/")+1:]
	name, _, _ = strings.Cut(name, "-")
	if !strings.HasPrefix(name, "l") {
		return ""
	}
	return name
}
