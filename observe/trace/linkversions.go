package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxEventDelay is how long after the end of a call an event can still be attributed to
// its write.
const maxEventDelay = time.Second

// maxRecordDelay is how long after its answer a call may be recorded on a busy machine.
// The start of the call is computed from the time of its record.
const maxRecordDelay = 50 * time.Millisecond

// version is a version of an object and the events that delivered it.
type version struct {
	place
	number  string
	deleted bool
	listed  bool // delivered only in initial lists
	news    bool // delivered in initial lists of controllers that had not received it before
	// lastSeen is set for a deletion that was noticed by a list: its number is that of
	// the last version that was seen, not of the deletion.
	lastSeen bool
	// unselected is set for a deletion that is none: with this version, which exists, the object left
	// the selection of the controller's informer.
	unselected bool
	first      time.Time
	events     []*Node
}

// linkVersions finds the call that made each delivered version. It returns an outside
// write for each of the other versions.
func (g *graph) linkVersions() []*Node {
	versions := g.collectVersions()
	m := g.indexWrites(versions)
	deletions := map[*Node]int{} // number of objects that a call may have deleted
	for _, v := range versions {
		if v.deleted {
			for _, c := range m.matchingDeletes(v) {
				deletions[c]++
			}
		}
	}
	clientsRecorded := slices.ContainsFunc(g.calls, func(c *Node) bool { return c.byClient })
	var outside []*Node
	for _, v := range versions {
		v.unselected = v.unselected || m.isStored(v)
		c, certainty, rule := m.writeOf(v, deletions)
		if c == nil {
			c, certainty, rule = v.outsideWrite(), Certain, ByVersion
			c.writeRecorded = v.listed && m.storedBy(v) != nil
			c.unrecorded = clientsRecorded && g.writesReported
			outside = append(outside, c)
		}
		v.annotate(c)
		for _, e := range v.events {
			e.setCause(c, certainty, rule)
		}
	}
	return outside
}

// collectVersions returns the delivered versions. It skips resyncs, which deliver
// nothing new.
func (g *graph) collectVersions() []*version {
	type key struct {
		place
		number                string
		deleted, listed, news bool
	}
	received := map[delivery]bool{} // not in a list
	for _, e := range g.events {
		if e.Change != observe.Resynced && e.Change != observe.Listed {
			received[deliveryOf(e)] = true
		}
	}
	byKey := map[key]*version{}
	var list []*version
	for _, e := range g.events {
		if e.Change == observe.Resynced {
			continue
		}
		listed := e.Change == observe.Listed
		k := key{placeOf(e.Object), e.ResourceVersion, e.Change == observe.Deleted, listed, listed && !received[deliveryOf(e)]}
		v := byKey[k]
		if v == nil {
			v = &version{place: k.place, number: k.number, deleted: k.deleted, listed: k.listed, news: k.news, first: e.Time}
			byKey[k] = v
			list = append(list, v)
		}
		if e.Time.Before(v.first) {
			v.first = e.Time
		}
		v.events = append(v.events, e)
	}
	for _, v := range list {
		if before := byKey[key{v.place, v.number, false, false, false}]; v.deleted && before != nil {
			v.lastSeen = slices.ContainsFunc(before.events, func(e *Node) bool { return e.Controller == v.events[0].Controller })
			v.unselected = !v.lastSeen
		}
	}
	return list
}

// delivery identifies a version that a controller has received.
type delivery struct {
	objectVersion
	controller string
}

func deliveryOf(e *Node) delivery {
	return delivery{objectVersion{placeOf(e.Object), e.ResourceVersion}, e.Controller}
}

// uid returns the object's UID, or "" if no event has it.
func (v *version) uid() string {
	for _, e := range v.events {
		if e.uid != "" {
			return e.uid
		}
	}
	return ""
}

// outsideWrite returns the write that must have made the version.
func (v *version) outsideWrite() *Node {
	e := v.events[0]
	verb := map[observe.Change]string{
		observe.Added: "create", observe.Updated: "update", observe.Deleted: "delete", observe.Listed: "list",
	}[e.Change]
	marked := v.marks()
	if marked {
		verb = "delete"
	}
	n := &Node{
		ID: fmt.Sprintf("o%d", e.seq), Kind: Outside, Time: v.first, seq: e.seq,
		Verb: verb, Object: e.Object, ResourceVersion: v.number, uid: e.uid, Marked: marked,
	}
	if v.listed && !slices.ContainsFunc(v.events, func(other *Node) bool { return other.Controller != e.Controller }) {
		n.lister = e.Controller
	}
	return n
}

// annotate adds information from the events to the write.
func (v *version) annotate(c *Node) {
	seen := map[string]bool{}
	for _, e := range v.events {
		seen[e.Controller] = true
		if v.place == placeOf(c.Object) { // a call may write others, too: an eviction changes a budget
			c.uid = cmp.Or(c.uid, e.uid)
		}
	}
	c.Gone = c.Gone || v.deleted && !v.unselected && !c.Marked && c.isTarget(v.place) // else it has left a selection later
	c.Watchers = max(c.Watchers, len(seen))
}
