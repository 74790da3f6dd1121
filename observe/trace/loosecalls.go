package trace

// linkLooseCalls links calls that were made outside of a sync, by goroutines that a
// sync has started or has passed its key to.
func (g *graph) linkLooseCalls() {
	byController := map[string][]*Node{}
	for _, s := range g.syncs {
		if !s.Open {
			byController[s.Controller] = append(byController[s.Controller], s)
		}
	}
	for _, c := range g.calls {
		if c.causedBy != nil {
			continue
		}
		if s := g.syncByID[c.afterSync]; s != nil && s.Controller == c.Controller {
			c.setCause(s, Likely, ByCall)
		} else if s := c.syncAround(byController[c.Controller]); s != nil {
			c.setCause(s, Likely, ByKey)
		}
	}
}

// syncAround returns the sync during which c was made: the only one of its object, or
// the only one at all.
func (n *Node) syncAround(list []*Node) *Node {
	var around, same []*Node
	for _, s := range list {
		if n.Time.Before(s.Time) || n.End().After(s.End().Add(clockGap)) {
			continue
		}
		around = append(around, s)
		if s.Key == n.Object.Key() {
			same = append(same, s)
		}
	}
	switch {
	case len(same) == 1:
		return same[0]
	case len(around) == 1:
		return around[0]
	}
	return nil
}
