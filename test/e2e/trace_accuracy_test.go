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

// Many Deployments are created, scaled and deleted at once while the other tests run.
// The names show what belongs together: everything caused by Deployment l7 has a
// name with the prefix l7. Every cause that a trace calls certain must be right. Of the
// controllers' writes, more than 95 % usually are in the trace of their Deployment: how many
// depends on the load.
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
	if t.Failed() { // in one of the goroutines
		return
	}
	await(t, "deletion of the Pods of deleted Deployments", listPods(ns), func(l []corev1.Pod) bool { return len(l) == many/2*4 })

	q := trace.Query()
	q.After = start.Journal.Last
	page, err := src.Records(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if page.Missed > 0 {
		t.Fatalf("%d records were dropped: the other tests made more than the control plane keeps", page.Missed)
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
			if n.Cause.Certainty != trace.Certain {
				likely++
				continue
			}
			exact++
			its, of := deploymentOf(n), deploymentOf(byID[n.Cause.ID])
			if its != "" && of != "" && its != of {
				t.Errorf("%s of %s has a certain cause of %s, by %s:\n%s\n%s", n.Kind, its, of, n.Cause.Rule,
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
	t.Logf("%d of %d writes are in the right trace; %d links are certain, %d likely", right, writes, exact, likely)
	if writes < 10*many || right*100 < writes*85 {
		t.Errorf("%d of %d writes are in the trace of the right Deployment, want 85 %%", right, writes)
	}
}

// explainMisplaced describes the first link above a node that leads to another Deployment.
func explainMisplaced(nodes map[string]*trace.Node, id string) string {
	for n := nodes[id]; n != nil && n.Cause != nil; n = nodes[n.Cause.ID] {
		if up := nodes[n.Cause.ID]; up != nil && deploymentOf(n) != deploymentOf(up) {
			return fmt.Sprintf(", through %s %s (%s of %s, %s)", n.Kind, n.ID, n.Queue, n.Controller, n.Cause.Rule)
		}
	}
	return ""
}

// withoutChildren returns a node without its children.
func withoutChildren(n *trace.Node) trace.Node {
	c := *n
	c.Children = nil
	return c
}

// exerciseDeployment creates a Deployment, scales it and, unless it stays, deletes it.
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

// deploymentOf returns the Deployment that a node belongs to by its name; "" if unknown.
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
