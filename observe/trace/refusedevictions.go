package trace

import (
	"regexp"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// refusingBudget names the PodDisruptionBudget that has refused an eviction, and says why.
var refusingBudget = regexp.MustCompile(`The disruption budget (\S+) (.*)$`)

// isRefusedByBudget reports whether n is an eviction that a PodDisruptionBudget did not allow.
func (n *Node) isRefusedByBudget() bool {
	return n.isEviction() && n.gotError() && !n.isStored() && !n.dryRun && refusingBudget.MatchString(n.Error)
}

// addRefusedEvictions adds the evictions of the Pod that were refused before the one which is explained. mine are the nodes
// about the Pod, also about an earlier one with its name.
func (c *Chain) addRefusedEvictions(mine []*Node) {
	_, decisive, _ := c.writes()
	if c.What != Deleted || decisive == nil || !decisive.isEviction() {
		return
	}
	for _, n := range mine {
		switch {
		case !n.Time.Before(decisive.Time):
		case n.isWrite() && !n.gotError() && n.creates():
			c.refused = nil
		case n.isRefusedByBudget():
			c.refused = append(c.refused, n)
		}
	}
}

// writeRefusedEvictions says how often the eviction was refused before, and by which budgets.
func (c *Chain) writeRefusedEvictions(p *painter) {
	if len(c.refused) == 0 {
		return
	}
	var names []string
	for _, n := range c.refused {
		if name := refusingBudget.FindStringSubmatch(n.Error)[1]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	first, last := c.refused[0], c.refused[len(c.refused)-1]
	s := "Before, the API server had refused to evict it "
	if len(c.refused) == 1 {
		s += "once, at " + p.formatClock(last.Time)
	} else {
		s += words.Count(len(c.refused), "time") + ", first at " + p.formatClock(first.Time) + " and last at " + p.formatClock(last.Time)
	}
	if len(names) == 1 {
		s += ": PodDisruptionBudget " + names[0] + " " + refusingBudget.FindStringSubmatch(last.Error)[2]
	} else {
		s += ": PodDisruptionBudgets " + words.And(names) + " did not allow it"
	}
	p.writeSentence(p.sentence(words.OneLine(s)))
}
