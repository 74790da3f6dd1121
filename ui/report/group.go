package report

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

const maxGroups = 300

// groups are errors and conflicts, those of a kind together.
type groups struct {
	known map[groupName]*Group
	left  uint64 // errors for which there was no group any more
}

type groupName struct{ kind, controller, what, pattern string }

// Group is a kind of error that one controller met, maybe more than once.
type Group struct {
	Kind, Controller, What string
	Message                string // of the last one
	About                  string // of the last one
	Count                  uint64
	First, Last            time.Time
}

func newGroups() *groups { return &groups{known: map[groupName]*Group{}} }

// particular is what differs from one error to the next of its kind.
var particular = regexp.MustCompile(`"[^"]*"|[0-9]+`)

func (g *groups) add(kind, controller, what, message string, m mark) {
	name := groupName{kind, controller, what, particular.ReplaceAllString(message, "#")}
	one := g.known[name]
	if one == nil {
		if len(g.known) >= maxGroups {
			g.left++
			return
		}
		one = &Group{Kind: kind, Controller: controller, What: what, First: m.at}
		g.known[name] = one
	}
	one.Count++
	one.Last, one.Message, one.About = m.at, message, m.about
}

// list has those that failed before conflicts, which are a matter of course,
// and then those that came most often.
func (g *groups) list() []Group {
	all := make([]Group, 0, len(g.known))
	for _, one := range g.known {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(b.Count, a.Count),
			a.First.Compare(b.First), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.What, b.What),
		)
	})
	return all
}

var rank = map[string]int{
	"Failed controller": 0, "Failed sync": 1, "Failed call": 2, "Logged error": 3, "Conflict": 4, "Logged warning": 5,
}
