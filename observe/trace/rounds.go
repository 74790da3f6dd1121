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
	s := fmt.Sprint(n.Kind, " ", n.Controller, n.asWhom(), " ", n.Verb, " ", n.Subresource, " ", n.Change, " ", n.Queue, " ", n.Key, " ", n.Retried, " ", n.isRetry(), " ", n.Status, n.Gone, n.Marked)
	if n.Object != nil {
		s += fmt.Sprint(" ", placeOf(n.Object))
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

// findRounds returns the lines that need not be drawn, as those before them say the same.
func (c *Chain) findRounds() (list []rounds) {
	if c.all {
		return nil
	}
	lines := make([]string, len(c.Links))
	for i, n := range c.Links {
		lines[i] = n.sameLine()
	}
	for i := 0; i < len(lines); {
		length, count := repeatedFrom(lines[i:])
		if count < minFolded+2 {
			i++
			continue
		}
		what := describeRounds(count - 2)
		if length == 1 && c.Links[i].Failed {
			what = words.Count(count-2, "more attempt") + " failed in the same way"
		}
		list = append(list, rounds{i + length, i + length*(count-1), what})
		i += length * count
	}
	return list
}

// repeatedFrom returns the shortest beginning of some lines that repeats often enough to be folded, and how
// often it is there.
func repeatedFrom(lines []string) (length, count int) {
	for length = 1; length <= min(maxRound, len(lines)/2); length++ {
		same := 0
		for same+length < len(lines) && lines[same] == lines[same+length] {
			same++
		}
		if count = 1 + same/length; count >= minFolded+2 {
			return length, count
		}
	}
	return 0, 0
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
	var below []item
	for _, n := range t.Roots {
		below = append(below, item{n, n})
	}
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
	shapes := make([]string, len(list))
	for i := range list[:len(list)-1] {
		shapes[i] = f.shape(list[i], list[i+1])
	}
	for i := 0; i < len(list)-1; {
		end := i + 1
		for end < len(list)-1 && shapes[end] == shapes[i] {
			end++
		}
		if folded := end - i - 1; folded >= minFolded {
			f.found[list[i+1].node] = foldedRounds{folded, list[end]}
		}
		i = end
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

// shape says what there is in a round, up to the next one.
func (f *roundFinder) shape(of, next item) string {
	var lines []string
	below := childItems(of.node)
	for i := 0; i < len(below); i++ {
		if below[i].node != next.node {
			lines = append(lines, f.line(below[i]))
			below = append(below, childItems(below[i].node)...)
		}
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}
