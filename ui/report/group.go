package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/ui"
)

const maxGroups = 300

// errorGroups collects errors and conflicts and groups similar ones.
type errorGroups struct {
	known   map[groupKey]*Group
	dropped uint64 // errors beyond maxGroups groups
}

type groupKey struct{ kind, controller, what, pattern string }

// Group is a set of similar errors of one controller.
type Group struct {
	Kind, Controller, What string
	Message                string // of the last error
	About                  string // object or key of the last error
	Count                  uint64
	Retried, Deleted       uint64 // those followed by a success, and those that ended with the deletion of their objects
	First, Last            time.Time
}

func newGroups() *errorGroups { return &errorGroups{known: map[groupKey]*Group{}} }

// variablePart matches the parts of a message that differ between similar errors.
var variablePart = regexp.MustCompile(`"[^"]*"|[0-9]+`)

// add returns the group; nil if there are too many.
func (g *errorGroups) add(kind, controller, what, message string, m mark) *Group {
	name := groupKey{kind, controller, what, variablePart.ReplaceAllString(message, "#")}
	one := g.known[name]
	if one == nil {
		if len(g.known) >= maxGroups {
			g.dropped++
			return nil
		}
		one = &Group{Kind: kind, Controller: controller, What: what, First: m.at}
		g.known[name] = one
	}
	one.Count++
	one.Last, one.Message, one.About = m.at, message, m.about
	return one
}

// AllRetried reports whether every error of the group was followed by a success.
func (g *Group) AllRetried() bool { return g.Retried == g.Count }

// Endings says what ended the errors of the group: "retried successfully" if all were. It is empty if nothing has.
func (g *Group) Endings() string {
	var said []string
	for _, e := range []struct {
		n    uint64
		text string
	}{{g.Retried, "retried successfully"}, {g.Deleted, "failed until the object was deleted"}} {
		switch e.n {
		case 0:
		case g.Count:
			said = append(said, e.text)
		default:
			said = append(said, ui.GroupDigits(e.n)+" "+e.text)
		}
	}
	return strings.Join(said, ", ")
}

// sortedGroups returns failures before conflicts, which are normal, and frequent
// errors first. Those that were all retried successfully are last.
func (g *errorGroups) sortedGroups() []Group {
	all := make([]Group, 0, len(g.known))
	for _, one := range g.known {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(boolRank(a.AllRetried()), boolRank(b.AllRetried())), cmp.Compare(groupRank[a.Kind], groupRank[b.Kind]), cmp.Compare(b.Count, a.Count),
			a.First.Compare(b.First), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.What, b.What),
		)
	})
	return all
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

var groupRank = map[string]int{
	"Failed controller": 0, "Failed sync": 1, "Failed call": 2, "Logged error": 3, "Conflict": 4, "Logged warning": 5,
}
