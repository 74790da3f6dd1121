package trace

// pruner removes nodes without information.
type pruner struct{ Options }

// attachKept adds the children of n that are worth keeping, and reports whether n
// itself is. depth is the number of writes that lead to n.
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
			n.UnchangedWrites += c.UnchangedWrites
			switch {
			case c.Kind == Sync:
				n.Idle++
			case c.noEffect:
				n.UnchangedWrites++
			case c.Kind == Call:
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

// isNotable reports whether a node without effects is worth showing.
func (n *Node) isNotable() bool {
	switch n.Kind {
	case Event:
		return n.Ignored
	case Sync:
		return n.Failed || n.Open
	case Call:
		return !n.noEffect && (n.gotError() || n.Verb != "deletecollection" || n.Watchers > 0 || len(n.wrote) > 0)
	}
	return true
}

// isExcluded reports whether the options exclude n.
func (f pruner) isExcluded(n *Node) bool {
	return f.Controller != "" && n.Controller != f.Controller || n.End().Before(f.Since)
}
