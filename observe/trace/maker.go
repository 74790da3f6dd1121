package trace

import (
	"slices"
	"sort"
	"strconv"
	"time"
)

// makers are the calls that may have made versions.
type makers struct {
	claims map[claim][]*Node // answered with the version
	named  map[place][]*Node // by object, or by collection, where the name is empty
	known  []knowledge       // in order of time
	seen   map[claim]time.Time
	ends   map[place][]*version
}

type claim struct {
	place
	number string
}

// knowledge is the highest version of any object that is known at a time.
type knowledge struct {
	at      time.Time
	highest uint64
}

func (g *graph) makers(versions []*version) *makers {
	m := &makers{
		claims: map[claim][]*Node{}, named: map[place][]*Node{}, seen: map[claim]time.Time{}, ends: map[place][]*version{},
	}
	for _, v := range versions {
		if v.deleted {
			m.ends[v.place] = append(m.ends[v.place], v)
		}
	}
	for _, c := range g.calls {
		if !c.write() || c.failed() {
			continue
		}
		at := placeOf(c.Object)
		m.named[at] = append(m.named[at], c)
		if c.ResourceVersion != "" {
			k := claim{at, c.ResourceVersion}
			m.claims[k] = append(m.claims[k], c)
			m.learn(k, c.End())
		}
	}
	for _, e := range g.events {
		m.learn(claim{placeOf(e.Object), e.ResourceVersion}, e.Time)
	}
	slices.SortFunc(m.known, func(a, b knowledge) int { return a.at.Compare(b.at) })
	for i := range m.known[min(1, len(m.known)):] {
		m.known[i+1].highest = max(m.known[i+1].highest, m.known[i].highest)
	}
	return m
}

// learn notes that a version was known at a time.
func (m *makers) learn(k claim, at time.Time) {
	if old, ok := m.seen[k]; !ok || at.Before(old) {
		m.seen[k] = at
	}
	if n, err := strconv.ParseUint(k.number, 10, 64); err == nil {
		m.known = append(m.known, knowledge{at, n})
	}
}

// highest is the highest version that was known before t.
func (m *makers) highest(t time.Time) uint64 {
	i := sort.Search(len(m.known), func(i int) bool { return !m.known[i].at.Before(t) })
	if i == 0 {
		return 0
	}
	return m.known[i-1].highest
}

// of returns the call that made v, if there is one.
func (m *makers) of(v *version, deletions map[*Node]int) (*Node, Certainty, Rule) {
	if v.listed {
		return nil, "", ""
	}
	if c, certainty := m.answered(v); c != nil {
		return c, certainty, ByVersion
	}
	if v.deleted {
		if d := m.deleters(v); len(d) == 1 && (deletions[d[0]] == 1 || d[0].uid != "" && d[0].uid == v.uid()) {
			return d[0], Exact, ByDeletion
		}
	}
	if c := m.underWay(v); c != nil {
		return c, Likely, ByWrite
	}
	return nil, "", ""
}

// answered is the call that was answered with v. One that began when v was
// known already has changed nothing.
func (m *makers) answered(v *version) (*Node, Certainty) {
	k := claim{v.place, v.number}
	var fresh, doubtful []*Node
	for _, c := range m.claims[k] {
		switch {
		case v.deleted && c.Verb != "delete":
		case c.Verb == "create":
			return c, Exact
		case !m.seen[k].Before(c.Time):
			fresh = append(fresh, c)
		case c.delayed(m.seen[k]):
			doubtful = append(doubtful, c)
		}
	}
	if len(fresh) == 1 && m.certain(fresh[0], v) {
		return fresh[0], Exact
	}
	if len(fresh) == 0 {
		fresh = doubtful
	}
	if len(fresh) == 0 {
		return nil, ""
	}
	return slices.MinFunc(fresh, func(a, b *Node) int { return a.End().Compare(b.End()) }), Likely
}

// delayed says whether c, a call that seems to have begun after a time, may have
// begun before: its record was held up, for its sync had begun by then.
func (c *Node) delayed(t time.Time) bool {
	return c.Time.Sub(t) < recordHeldUp && c.parent != nil && c.parent.Time.Before(t)
}

// certain says whether the only call that was answered with v has made it.
func (m *makers) certain(c *Node, v *version) bool {
	switch {
	case v.deleted: // only who removes an object learns the version of its end
		return true
	case c.Verb != "update": // a patch or a delete that changes nothing needs not know v before
		return false
	}
	for _, end := range m.ends[v.place] {
		if m.around(c, end) { // it may have removed the last finalizer
			return false
		}
	}
	n, err := strconv.ParseUint(v.number, 10, 64)
	return err == nil && m.highest(c.Time) < n
}

// deleters are the deletes that v, an object's end, may be due to, and that were
// answered without the object.
func (m *makers) deleters(v *version) []*Node {
	var list []*Node
	for _, c := range m.named[v.place] {
		other := c.uid != "" && v.uid() != "" && c.uid != v.uid() // an object that had the name before
		if c.Verb == "delete" && c.Subresource == "" && c.ResourceVersion == "" && !other && m.around(c, v) {
			list = append(list, c)
		}
	}
	return list
}

func (m *makers) around(c *Node, v *version) bool { return within(v.first, c.Time, c.End().Add(late)) }

// underWay is the call that may have made v though its answer tells another
// version, or none: of several the one that began last.
func (m *makers) underWay(v *version) *Node {
	collection := v.place
	collection.name = ""
	var last *Node
	for _, c := range slices.Concat(m.named[v.place], m.named[collection]) {
		if m.around(c, v) && m.silent(c, v) && (last == nil || c.Time.After(last.Time)) {
			last = c
		}
	}
	return last
}

// silent says whether c is of a kind that could have made v.
func (m *makers) silent(c *Node, v *version) bool {
	answer, _ := strconv.ParseUint(c.ResourceVersion, 10, 64)
	number, _ := strconv.ParseUint(v.number, 10, 64)
	switch {
	case c.Verb == "deletecollection":
		return true
	case c.Verb == "create":
		return c.ResourceVersion == "" && c.Object.Name != "" // a binding, an eviction
	case c.ResourceVersion == "":
		return true
	case c.Verb == "delete": // in two steps, of which the answer tells the last
		return number < answer
	}
	// Who removes the last finalizer is answered with the version before the end.
	return v.deleted && m.seen[claim{v.place, c.ResourceVersion}].Before(c.Time)
}
