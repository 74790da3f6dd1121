package trace

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// 40 Deployments were created at once on two busy processors: queues are out of order,
// handlers overlap, threads are preempted. Names tell the truth: everything that
// Deployment l7 set off has a name that begins with l7.
func TestLinksAreCorrectUnderLoad(t *testing.T) {
	g := newGraph(loadJournal(t, "load"), observe.Object{}, Options{})
	links, right := 0, 0
	for _, n := range g.nodes {
		if n.Cause == nil || n.Kind == Sync && n.KeyBasis != observe.BasisLog {
			continue
		}
		links++
		switch its, causes := deploymentOf(n), deploymentOf(n.causedBy); {
		case its == causes || its == "" || causes == "":
			right++
		case n.Cause.Certainty == Certain:
			t.Errorf("%s %s of %s is linked to %s of %s as certain, by %s", n.Kind, n.ID, its, n.causedBy.ID, causes, n.Cause.Rule)
		default:
			t.Logf("%s %s of %s is linked to %s of %s, by %s", n.Kind, n.ID, its, n.causedBy.ID, causes, n.Cause.Rule)
		}
	}
	t.Logf("%d of %d links are right", right, links)
	if links < 500 || right*100 < links*95 {
		t.Errorf("%d of %d links are right, want 95 %%", right, links)
	}
	for _, n := range g.nodes {
		if n.Kind == Outside && n.Verb != "create" {
			t.Errorf("%s of %s is an outside write", n.Verb, n.Object)
		}
	}
}

// deploymentOf returns the name of the Deployment that a node is about, "" if unknown.
func deploymentOf(n *Node) string {
	name := n.Key
	if n.Object != nil {
		name = n.Object.Name
	}
	name = name[strings.Index(name, "/")+1:]
	name, _, _ = strings.Cut(name, "-")
	return name
}
