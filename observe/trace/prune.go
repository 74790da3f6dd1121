package trace

// pruner leaves out what does not tell anything.
type pruner struct{ Options }

// attachKept hangs what is worth keeping below n, and says whether n itself is.
// depth is how many writes lead to n.
func (f pruner) attachKept(n *Node, children map[*Node][]*Node, depth int) bool {
	if n.Kind == Call || n.Kind == Outside {
		depth++
	}
	for _, c := range children[n] {
		if !f.attachKept(c, children, depth) {
			if f.isExcluded(c) {
				continue
			}
			n.Idle += c.Idle
			n.Empty += c.Empty
			switch c.Kind {
			case Sync:
				n.Idle++
			case Call:
				n.Empty++
			}
			continue
		}
		if f.Depth > 0 && depth >= f.Depth && c.Kind == Call {
			n.Deeper += 1 + c.Deeper
			continue
		}
		n.Children = append(n.Children, c)
	}
	if len(n.Children) > 0 || n.Deeper > 0 {
		return true
	}
	if f.isExcluded(n) {
		return false
	}
	return f.All || n.isNotable()
}

// isNotable says whether a node that nothing came of is worth telling.
func (n *Node) isNotable() bool {
	switch n.Kind {
	case Event:
		return false
	case Sync:
		return n.failed() || n.Open
	case Call:
		return n.failed() || n.Verb != "deletecollection" || n.Watchers > 0
	}
	return true
}

// isExcluded says whether n is not asked for.
func (f pruner) isExcluded(n *Node) bool {
	return f.Controller != "" && n.Controller != f.Controller || n.End().Before(f.Since)
}
