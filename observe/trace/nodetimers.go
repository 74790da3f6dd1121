package trace

import (
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxNodePass is how long after node-lifecycle-controller has marked a node it taints it and marks
// its Pods: it looks at all nodes every 5 s.
const maxNodePass = 10 * time.Second

// linkNodeTimers links what the node controllers write by timers of their own, outside of any
// sync, to the last event of the node for which they do so:
//
//   - node-lifecycle-controller marks a node that is silent, after a user has asked ctrlplane for it;
//   - it taints the node that it has marked, and marks its Pods, and takes the taint away when the kubelet has reported;
//   - taint-eviction-controller evicts a Pod for taints of its node that it does not tolerate, or not any more; if the
//     records do not have these, after the last taint that evicts was added or removed, or the Pod was created for, or bound
//     to, a node with one;
//   - pod-garbage-collector-controller deletes the Pods of a node that was deleted 40 s before, or never existed: it receives no
//     events of nodes.
func (g *graph) linkNodeTimers() {
	bindings := map[place][]*Node{}
	events := map[string][]*Node{} // of Nodes, by controller
	placed := map[place][]*Node{}  // events of a Pod that taint-eviction-controller received when the Pod got its node
	for _, c := range g.calls {
		if c.BoundTo != "" && !c.gotError() && !c.dryRun {
			bindings[placeOf(c.Object)] = append(bindings[placeOf(c.Object)], c)
		}
	}
	for _, e := range g.events {
		switch {
		case e.causedBy == nil:
		case e.Object.Resource == "nodes" && (e.Controller == controllernames.NodeLifecycle || e.Controller == controllernames.TaintEviction):
			events[e.Controller] = append(events[e.Controller], e)
		case e.Object.Resource == "pods" && e.Controller == controllernames.TaintEviction && (e.causedBy.isBinding() || e.causedBy.creates()):
			placed[placeOf(e.Object)] = append(placed[placeOf(e.Object)], e)
		}
	}
	evictions := g.eventsOfEvictions()
	only := g.onlyNode()
	for _, c := range g.calls {
		if c.causedBy == nil && c.Controller == controllernames.PodGarbageCollector && c.Object.Resource == "pods" {
			g.linkOrphan(c, bindings[placeOf(c.Object)])
		}
		if c.causedBy != nil || c.Controller != controllernames.NodeLifecycle && c.Controller != controllernames.TaintEviction {
			continue
		}
		node := boundToBefore(bindings[placeOf(c.Object)], c)
		if c.Object.Resource == "nodes" {
			node = c.Object.Name
		}
		if node == "" {
			node = only // that of a Pod which was bound before the first record
		}
		if c.Controller == controllernames.TaintEviction {
			if c.eviction = evictionBefore(c, node, evictions(c, node)); c.eviction != nil {
				c.Taints = c.eviction.taints
				c.setCause(c.eviction.since, Likely, ByDelay)
				continue
			}
		}
		last := c.lastTiming(events[c.Controller], node)
		if c.Controller == controllernames.TaintEviction && node != "" {
			for _, e := range placed[placeOf(c.Object)] {
				if !e.End().After(c.Time) && (last == nil || e.Time.After(last.Time)) {
					last = e
				}
			}
		}
		if last != nil {
			c.setCause(last, Likely, ByDelay)
		}
	}
}

// removalOfNode returns the call that has removed a node, if the node does not exist at a time; else nil.
func (g *graph) removalOfNode(name string, at time.Time) (removal *Node) {
	node := observe.Object{Resource: "nodes", Name: name}
	for _, c := range g.calls {
		if name == "" || c.End().After(at) || placeOf(c.Object) != placeOf(&node) {
			continue
		}
		switch c.writeEffect(node) {
		case Deleted:
			removal = c
		case Created:
			removal = nil
		}
	}
	return removal
}

// onlyNode returns the name of the Node that the records name; "" if they name several or none.
func (g *graph) onlyNode() (only string) {
	for _, list := range [][]*Node{g.calls, g.events} {
		for _, n := range list {
			name := n.BoundTo
			if n.Object.Resource == "nodes" || n.Object.Resource == "leases" && n.Object.Namespace == "kube-node-lease" {
				name = n.Object.Name
			}
			switch {
			case name == "" || name == only:
			case only != "":
				return ""
			default:
				only = name
			}
		}
	}
	return only
}

// lastTiming returns the last event for which a node controller may make the write, to a node or to a Pod on it.
func (n *Node) lastTiming(events []*Node, node string) (last *Node) {
	for _, e := range events {
		if e.mayTimeWrite(n, node) && (last == nil || e.Time.After(last.Time)) {
			last = e
		}
	}
	return last
}

// boundToBefore returns the Node to which the last binding before a write binds a Pod; "" if none is known. A
// Pod that is created again under the same name is bound again, to any Node.
func boundToBefore(bindings []*Node, write *Node) (node string) {
	if last := bindingBefore(bindings, write); last != nil {
		return last.BoundTo
	}
	return ""
}

// bindingBefore returns the last binding before a write, or the creation of a Pod with a node; nil if none is known.
func bindingBefore(bindings []*Node, write *Node) (last *Node) {
	for _, b := range bindings {
		if b.Time.Before(write.Time) && (last == nil || b.Time.After(last.Time)) {
			last = b
		}
	}
	return last
}

// mayTimeWrite reports whether a node controller that has received the event may make the write c for
// it, to a node or to a Pod on it.
func (n *Node) mayTimeWrite(c *Node, node string) bool {
	made := n.causedBy
	switch {
	case n.End().After(c.Time), n.Object.Name != node:
		return false
	case c.Controller == controllernames.TaintEviction:
		return c.Object.Resource == "pods" && len(n.queues) > 0 // else no taint that evicts was added or removed
	case c.Object.Resource == "nodes" && c.Subresource == "status":
		return made.Controller == observe.Own
	}
	return made.Subresource == "status" && c.Time.Sub(n.Time) <= maxNodePass
}
