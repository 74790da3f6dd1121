package trace

import "slices"

// step is what a diagram draws on one row: a node or, where the text folds what repeats, a label for several.
type step struct {
	nodes  []*Node // that it stands for, at least one
	shown  *Node   // whose outcome is that of the step
	folded string  // a label instead of the nodes; empty if the only one is drawn
}

// first returns the node whose time and actor are those of the step.
func (s step) first() *Node { return s.nodes[0] }

// foldedText is what the step says in place of its nodes.
func (s step) foldedText() string { return "… " + s.folded }

// seeAll says how to see what is folded.
const seeAll = ": --all shows them"

// drawnSteps returns what a diagram draws, in chronological order. It folds what the text folds.
func (t *Tree) drawnSteps() []step {
	var steps []step
	if t.chain != nil {
		steps = t.chain.drawnSteps(slices.Collect(t.All()))
	} else {
		d := &treeDrawing{all: t.all, rounds: t.findRounds(), drawn: map[*Node]bool{}}
		d.addItems(t.rootItems())
		steps = d.steps
	}
	slices.SortStableFunc(steps, func(a, b step) int { return compareTime(a.first(), b.first()) })
	return steps
}

// treeDrawing collects the steps of a tree as the text draws its lines.
type treeDrawing struct {
	all    bool
	rounds map[*Node]foldedRounds
	drawn  map[*Node]bool // several lines may name the same event
	steps  []step
}

func (d *treeDrawing) addItems(items []item) {
	for _, l := range foldRepeated(items, d.all) {
		if len(l.folded) == 0 {
			d.addBranch(l.item)
			continue
		}
		var nodes []*Node
		for _, it := range l.folded {
			nodes = append(nodes, it.nodesUpTo(nil)...)
		}
		d.fold(l.describeFolded(), l.node, nodes)
	}
}

// addBranch adds an item and what follows from it. The only write of a sync belongs to the item, as the text has it on
// the same line.
func (d *treeDrawing) addBranch(it item) {
	if r, ok := d.rounds[it.node]; ok {
		d.fold(describeRounds(r.count), it.node, it.nodesUpTo(r.next.node))
		d.addBranch(r.next)
		return
	}
	nodes := []*Node{it.top, it.node}
	if write := it.node.onlyWrite(); write != nil {
		nodes = append(nodes, write)
	}
	for _, n := range nodes {
		if !d.drawn[n] {
			d.drawn[n] = true
			d.steps = append(d.steps, step{nodes: []*Node{n}, shown: n})
		}
	}
	d.addItems(childItems(nodes[len(nodes)-1]))
}

// fold adds a step with the outcome of shown in place of nodes, except for an event that is drawn.
func (d *treeDrawing) fold(what string, shown *Node, nodes []*Node) {
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return d.drawn[n] })
	d.steps = append(d.steps, step{nodes, shown, what})
}

// nodesUpTo returns the nodes of an item and of those below it, except for those of and below another one.
func (it item) nodesUpTo(next *Node) (list []*Node) {
	if it.node == next {
		return nil
	}
	if it.top != it.node {
		list = append(list, it.top)
	}
	list = append(list, it.node)
	for _, c := range childItems(it.node) {
		list = append(list, c.nodesUpTo(next)...)
	}
	return list
}

// drawnSteps returns the steps of a chain; nodes are copies of its links, oldest first.
func (c *Chain) drawnSteps(nodes []*Node) (steps []step) {
	folded := c.foldedRounds()
	for i := len(nodes); i > 0; {
		from, to, what := i-1, i, ""
		if link := len(nodes) - i; len(folded) > 0 && link == folded[0].from {
			from, what, folded = len(nodes)-folded[0].to, folded[0].what, folded[1:]
		}
		steps = append(steps, step{nodes[from:to], nodes[from], what})
		i = from
	}
	slices.Reverse(steps)
	return steps
}
