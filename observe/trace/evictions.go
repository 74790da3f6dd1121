package trace

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// eviction says for which taints taint-eviction-controller evicts a Pod.
type eviction struct {
	node   string
	taints []string
	after  time.Duration // for which the Pod tolerates them
	set    []*Node       // for each, the event with which the node had it first
	since  *Node         // the event since which that time counts
}

// defaultTolerations are those of a Pod of which no event has others.
var defaultTolerations = []observe.Toleration{
	{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Seconds: new(int64(300))},
	{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Seconds: new(int64(300))},
}

// evictionTimer does with the events of a Pod and its node what taint-eviction-controller does with them: it decides
// when to evict the Pod, and for which taints.
type evictionTimer struct {
	node        string
	taints      []string
	set         map[string]*Node // with which event the node had each taint
	tolerations []observe.Toleration
	tainted     bool // the taints are known
	tolerates   bool // so are the tolerations
	placed      bool // the Pod is on the node
	due         *eviction
}

// eventsOfEvictions returns a function for the events of a Pod and of a node that taint-eviction-controller has received, in
// order.
func (g *graph) eventsOfEvictions() func(c *Node, node string) []*Node {
	byPlace := map[place][]*Node{}
	for _, e := range g.events {
		if e.Controller == controllernames.TaintEviction && e.Change != observe.Resynced {
			byPlace[placeOf(e.Object)] = append(byPlace[placeOf(e.Object)], e)
		}
	}
	return func(c *Node, node string) []*Node {
		list := slices.Concat(byPlace[placeOf(c.Object)], byPlace[place{resource: "nodes", name: node}])
		slices.SortStableFunc(list, func(a, b *Node) int { return cmp.Or(a.End().Compare(b.End()), cmp.Compare(a.seq, b.seq)) })
		return list
	}
}

// evictionBefore returns for which taints the controller evicts the Pod of a call; nil if the events do not say that. They
// are those that the controller has received of the Pod and its node.
func evictionBefore(c *Node, node string, events []*Node) *eviction {
	t := &evictionTimer{node: node, set: map[string]*Node{}}
	for _, e := range events {
		switch {
		case e.End().After(c.Time):
		case e.Object.Resource == "nodes":
			t.receiveNode(e)
		default:
			t.receivePod(e)
		}
	}
	if t.due == nil {
		return nil
	}
	late := c.Time.Sub(t.due.since.Time.Add(t.due.after))
	if late < 0 || late > maxEvictionTime { // it follows from what is not in the records
		return nil
	}
	return t.due
}

// maxEvictionTime is how long after an eviction was due it may be made. One that was refused is forgotten after five attempts.
const maxEvictionTime = 30 * time.Second

func (t *evictionTimer) receiveNode(e *Node) {
	if e.Change == observe.Deleted { // what is due stays so
		t.taints, t.tainted = nil, false
		clear(t.set)
		return
	}
	isNew := e.Change == observe.Listed || e.Change == observe.Added
	if e.noExecute == nil && !isNew {
		return
	}
	var taints []string
	if e.noExecute != nil {
		taints = e.noExecute.Taints
	}
	for taint := range t.set {
		if !slices.Contains(taints, taint) {
			delete(t.set, taint)
		}
	}
	for _, taint := range taints {
		t.set[taint] = cmp.Or(t.set[taint], e)
	}
	t.taints, t.tainted = taints, e.noExecute == nil || !e.noExecute.TooMany
	t.decide(e)
}

func (t *evictionTimer) receivePod(e *Node) {
	switch {
	case e.Change == observe.Deleted: // another one may have the name later
		t.tolerates, t.placed, t.due = false, false, nil
		return
	case e.noExecute != nil:
		t.tolerations = e.noExecute.Tolerations
		t.tolerates = !e.noExecute.TooMany && !slices.ContainsFunc(t.tolerations, comparesNumbers)
	case e.Change == observe.Listed || e.Change == observe.Added:
		t.tolerations, t.tolerates = defaultTolerations, true
	case !e.isPlacing():
		return
	}
	if e.isPlacing() { // one that was listed had no node before
		t.due = nil
	}
	t.placed = t.placed || e.isPlacing() || e.Change == observe.Listed
	t.decide(e)
}

// isPlacing reports whether a Pod has got its node with the version of an event.
func (n *Node) isPlacing() bool {
	by := n.causedBy
	return by != nil && (by.isBinding() || by.creates() && by.BoundTo != "")
}

// decide is what upstream's processPodOnNode does: an eviction that is due later keeps its time. One that was due at once has
// begun.
func (t *evictionTimer) decide(e *Node) {
	if !t.tolerates { // for how long is not known
		t.due = nil
	}
	if !t.tainted || !t.tolerates || !t.placed {
		return
	}
	taints, after, evicts := evicting(t.taints, t.tolerations)
	switch {
	case !evicts:
		t.due = nil
	case t.due == nil, after < 0 && t.due.after > 0:
		t.due = &eviction{node: t.node, taints: taints, after: max(after, 0), since: e}
		for _, taint := range taints {
			t.due.set = append(t.due.set, t.set[taint])
		}
	}
}

// evicting returns the taints that evict a Pod, and after which time: those that it does not tolerate, at once, and
// otherwise those that it tolerates for the shortest time. The time is negative for those that it does not tolerate.
func evicting(taints []string, tolerations []observe.Toleration) (by []string, after time.Duration, evicts bool) {
	shortest := map[time.Duration][]string{}
	for _, taint := range taints {
		seconds, limited := toleratedFor(taint, tolerations)
		if limited {
			shortest[seconds] = append(shortest[seconds], taint)
		}
	}
	for seconds, list := range shortest {
		if !evicts || seconds < after {
			by, after, evicts = list, seconds, true
		}
	}
	return by, after, evicts
}

// comparesNumbers reports whether a toleration is for values that are less or greater: whether it is in force depends on a
// feature gate.
func comparesNumbers(t observe.Toleration) bool {
	return t.Operator != "" && t.Operator != "Equal" && t.Operator != "Exists"
}

// longest is the longest duration, of some 292 years.
const longest = time.Duration(math.MaxInt64)

// toleratedFor returns for how long the first toleration of a taint tolerates it, if not without an end; negative if none does.
func toleratedFor(taint string, tolerations []observe.Toleration) (d time.Duration, limited bool) {
	key, value, _ := strings.Cut(strings.TrimSuffix(taint, ":NoExecute"), "=")
	for _, t := range tolerations {
		if t.Key != "" && t.Key != key || t.Operator != "Exists" && t.Value != value {
			continue
		}
		if t.Seconds == nil || *t.Seconds > int64(longest/time.Second) {
			return 0, false
		}
		return time.Duration(max(*t.Seconds, 0)) * time.Second, true
	}
	return -1, true
}

// describeEviction says for which taints a Pod is evicted, as the reason of a write.
func (p phrases) describeEviction(by *eviction) string {
	taints := "taint "
	if len(by.taints) > 1 {
		taints = "taints "
	}
	s := "because of " + taints + words.OneLine(words.And(by.taints)) + " of Node " + words.OneLine(by.node)
	isPod, wasPlaced := by.since.Object.Resource == "pods", by.since.isPlacing()
	switch {
	case by.after == 0 && isPod && wasPlaced:
		s += ", to which it was bound"
	case by.after == 0:
	case isPod && wasPlaced:
		s += ", which it tolerated for " + words.Duration(by.after) + " after it was bound"
	case isPod && by.since.Change == observe.Updated:
		s += ", which it tolerated for " + words.Duration(by.after) + " after its tolerations had changed"
	default:
		s += ", which it tolerated for " + words.Duration(by.after)
	}
	return s
}

// writeTaints says who has set the taints for which the Pod was evicted, if the chain does not have that.
func (c *Chain) writeTaints(p *painter) {
	_, decisive, _ := c.writes()
	if decisive == nil || decisive.eviction == nil {
		return
	}
	for i, e := range decisive.eviction.set {
		if by := e.causedBy; by != nil && by.Verb != "list" && !slices.Contains(c.Links, by) {
			p.writeSentence(p.sentence(p.actor(by) + " had set taint " + words.OneLine(decisive.eviction.taints[i]) + " at " + p.formatClock(by.Time)))
		}
	}
}
