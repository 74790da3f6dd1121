package trace

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	// minLoop is how many rounds like the one before make a loop. Fewer may be progress, as of a rollout.
	minLoop = 8
	// maxLookahead is how many lines below a line are searched for the next round.
	maxLookahead = 64
)

// sameLine identifies what the line of a node says, except for times and versions: rounds of a loop have the same
// lines.
func (n *Node) sameLine() string {
	s := fmt.Sprint(n.Kind, " ", n.Controller, n.asWhom(), " ", n.Verb, " ", n.Subresource, " ", n.seenChange(), " ", n.Queue, " ", n.Key, " ", n.Retried, " ", n.isRetry(), " ", n.Status, n.Gone, n.Marked)
	if n.Object != nil {
		s += fmt.Sprint(" ", placeOf(n.Object))
	}
	for _, w := range n.Webhooks {
		s += fmt.Sprint(" ", w)
	}
	if n.Forced != nil {
		s += fmt.Sprint(" ", *n.Forced)
	}
	s += n.managerNote()
	if len(n.Warnings) > 0 {
		s += fmt.Sprintf(" %q", n.Warnings)
	}
	if n.Error != "" {
		s += " " + n.sameError()
	}
	return s
}

// describeRounds says how many rounds are not drawn.
func describeRounds(n int) string {
	if n >= minLoop {
		return words.Count(n, "more round") + " of this loop, each caused by the one before"
	}
	return words.Count(n, "more round") + " like this"
}

// rounds are the lines of a chain that are not drawn, as they repeat those before them, and what is said instead.
type rounds struct {
	from, to int
	what     string
}

// span is a range of rounds that are not drawn.
type span struct{ from, to int }

// foldRounds returns which of the rounds of a loop need not be drawn, as lines before them say the same. They may differ in
// which of these they have: a conflict does not occur in each of them.
func foldRounds(rounds [][]string) (folded []span) {
	drawn := map[string]bool{}
	for i := 0; i < len(rounds); {
		for _, line := range rounds[i] {
			drawn[line] = true
		}
		end := i + 1
		for end < len(rounds) && !slices.ContainsFunc(rounds[end], func(line string) bool { return !drawn[line] }) {
			end++
		}
		if end-i-1 >= minFolded {
			folded = append(folded, span{i + 1, end})
		}
		i = end
	}
	return folded
}

// findRounds returns the lines that need not be drawn, as those before them say the same.
func (c *Chain) findRounds() (list []rounds) {
	if c.all {
		return nil
	}
	lines := make([]string, len(c.Links))
	for i, n := range c.Links {
		lines[i] = n.sameLine()
	}
	tried := make([]bool, len(lines)) // with more drawn before it than from the line on
	for i := 0; i < len(lines); i++ {
		if tried[i] {
			continue
		}
		starts := roundStarts(lines, i)
		var between [][]string
		for k := range starts[1:] {
			between = append(between, lines[starts[k]:starts[k+1]])
			tried[starts[k+1]] = true
		}
		for _, s := range foldRounds(between) {
			from, to, what := starts[s.from], starts[s.to], describeRounds(s.to-s.from)
			if to-from == s.to-s.from && c.Links[from].Failed {
				what = words.Count(to-from, "more attempt") + " failed in the same way"
			}
			list, i = append(list, rounds{from, to, what}), to
		}
	}
	return list
}

// roundStarts returns the lines that say what the line at i says, and i itself, each not far from the one before.
func roundStarts(lines []string, i int) []int {
	starts := []int{i}
	for at := i + 1; at < len(lines) && at-starts[len(starts)-1] <= maxRound; at++ {
		if lines[at] == lines[i] {
			starts = append(starts, at)
		}
	}
	return starts
}

// foldedRounds are rounds below a line of a tree that are not drawn, and the one after them, which is.
type foldedRounds struct {
	count int
	next  item
}

// roundFinder finds the rounds of a tree that are like the one before.
type roundFinder struct {
	lines map[*Node]string
	found map[*Node]foldedRounds // by the first that is not drawn
	done  map[*Node]bool         // it belongs to a sequence of rounds
}

// findRounds returns the rounds that need not be drawn.
func (t *Tree) findRounds() map[*Node]foldedRounds {
	f := &roundFinder{map[*Node]string{}, map[*Node]foldedRounds{}, map[*Node]bool{}}
	if t.all {
		return f.found
	}
	below := t.rootItems()
	for len(below) > 0 {
		it := below[len(below)-1]
		below = append(below[:len(below)-1], childItems(it.node)...)
		if !f.done[it.node] {
			f.fold(it)
		}
	}
	return f.found
}

// fold folds the rounds that begin with an item.
func (f *roundFinder) fold(first item) {
	list := []item{first}
	for it, ok := f.nextRound(first); ok; it, ok = f.nextRound(it) {
		list = append(list, it)
		f.done[it.node] = true
	}
	var between [][]string
	for i := range list[1:] {
		between = append(between, f.linesUpTo(list[i], list[i+1]))
	}
	for _, s := range foldRounds(between) {
		f.found[list[s.from].node] = foldedRounds{s.to - s.from, list[s.to]}
	}
}

// line returns what the line of an item says.
func (f *roundFinder) line(it item) string {
	s, known := f.lines[it.node]
	if !known {
		s = it.node.sameLine()
		if it.top != it.node {
			s = it.top.sameLine() + "\n" + s
		}
		f.lines[it.node] = s
	}
	return s
}

// nextRound returns the nearest item below one that says the same.
func (f *roundFinder) nextRound(of item) (item, bool) {
	below := childItems(of.node)
	for i := 0; i < len(below) && i < maxLookahead; i++ {
		if f.line(below[i]) == f.line(of) {
			return below[i], true
		}
		below = append(below, childItems(below[i].node)...)
	}
	return item{}, false
}

// linesUpTo returns what the lines of a round say, up to the next one.
func (f *roundFinder) linesUpTo(of, next item) []string {
	lines := []string{f.line(of)}
	below := childItems(of.node)
	for i := 0; i < len(below); i++ {
		if below[i].node != next.node {
			lines = append(lines, f.line(below[i]))
			below = append(below, childItems(below[i].node)...)
		}
	}
	return lines
}
