package trace

import (
	"slices"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// writeIndex finds the calls that may have made versions.
type writeIndex struct {
	made      map[storedVersion]*Node   // made the version, as the storage reports
	reported  bool                      // the storage reports all versions that calls have made
	elsewhere map[place]bool            // resources whose versions it does not report
	answers   map[objectVersion][]*Node // answered with the version
	byPlace   map[place][]*Node         // by object, or by collection if the name is empty
	known     []knownVersion            // in chronological order
	seen      map[objectVersion]time.Time
	deletions map[place][]*version
	removals  map[place][]removal // as the storage reports
	unencoded map[place][]*Node   // by collection: see hasUnencodedAnswer
	versions  map[place][]*version
}

// removal is the version with which a call has removed an object.
type removal struct {
	number uint64
	by     *Node
}

type objectVersion struct {
	place
	number string
}

type storedVersion struct {
	objectVersion
	deleted bool
}

// knownVersion is the highest version of any object known at a time.
type knownVersion struct {
	at      time.Time
	highest uint64
}

func (g *graph) indexWrites(versions []*version) *writeIndex {
	m := &writeIndex{
		made: map[storedVersion]*Node{}, reported: g.writesReported, elsewhere: g.storedElsewhere(),
		answers: map[objectVersion][]*Node{}, byPlace: map[place][]*Node{}, seen: map[objectVersion]time.Time{}, deletions: map[place][]*version{}, removals: map[place][]removal{},
		unencoded: map[place][]*Node{}, versions: map[place][]*version{},
	}
	for _, v := range versions {
		m.versions[v.place] = append(m.versions[v.place], v)
		if v.deleted {
			m.deletions[v.place] = append(m.deletions[v.place], v)
		}
	}
	for _, c := range g.calls {
		for _, w := range c.wrote {
			at := placeOfWritten(w)
			m.made[storedVersion{objectVersion{at, w.ResourceVersion}, w.Deleted}] = c
			if number := observe.VersionNumber(w.ResourceVersion); number != 0 && w.Deleted {
				m.removals[at] = append(m.removals[at], removal{number, c})
			}
		}
		at := placeOf(c.Object)
		if c.hasUnencodedAnswer() {
			m.unencoded[at] = append(m.unencoded[at], c)
		}
		if !c.isWrite() || c.gotError() {
			continue
		}
		m.byPlace[at] = append(m.byPlace[at], c)
		if c.ResourceVersion != "" {
			k := objectVersion{at, c.ResourceVersion}
			m.answers[k] = append(m.answers[k], c)
			m.noteVersion(k, c.End())
		}
	}
	for _, e := range g.events {
		m.noteVersion(objectVersion{placeOf(e.Object), e.ResourceVersion}, e.Time)
	}
	slices.SortFunc(m.known, func(a, b knownVersion) int { return a.at.Compare(b.at) })
	for i := range m.known[min(1, len(m.known)):] {
		m.known[i+1].highest = max(m.known[i+1].highest, m.known[i].highest)
	}
	return m
}

// noteVersion records that a version was known at a time.
func (m *writeIndex) noteVersion(k objectVersion, at time.Time) {
	if old, ok := m.seen[k]; !ok || at.Before(old) {
		m.seen[k] = at
	}
	if n := observe.VersionNumber(k.number); n != 0 {
		m.known = append(m.known, knownVersion{at, n})
	}
}

// highestBefore returns the highest version known before t.
func (m *writeIndex) highestBefore(t time.Time) uint64 {
	i := sort.Search(len(m.known), func(i int) bool { return !m.known[i].at.Before(t) })
	if i == 0 {
		return 0
	}
	return m.known[i-1].highest
}

// storedBy returns the call that made v, as the storage reports.
func (m *writeIndex) storedBy(v *version) *Node {
	return m.made[storedVersion{objectVersion{v.place, v.number}, v.deleted && !v.unselected}]
}

// isStored reports whether a deletion has the number of a version that the storage has stored, rather than that of the
// removal, and the controller had not received it before.
func (m *writeIndex) isStored(v *version) bool {
	return v.deleted && !v.lastSeen && m.made[storedVersion{objectVersion{v.place, v.number}, false}] != nil
}

// removalAfter returns the call that has removed the object after a version, as the storage reports, unless that began
// after the deletion was delivered.
func (m *writeIndex) removalAfter(v *version) *Node {
	number := observe.VersionNumber(v.number)
	var next removal
	for _, r := range m.removals[v.place] {
		if r.number > number && (next.by == nil || r.number < next.number) && !r.by.Time.After(v.first) {
			next = r
		}
	}
	return next.by
}

// isNewsToListers reports whether a controller that lists the version, because it starts, acts
// for the write that made it: that of another client or of a restore, or one that it has not
// received before, because it was stopped. Otherwise it may have acted for it before, and the
// start is the cause, as it is if it has made the version itself.
func (v *version) isNewsToListers(made *Node) bool {
	return made.Verb == observe.VerbRestore || v.isOfOtherClient(made) || v.news && !v.isOfLister(made)
}

func (v *version) isOfOtherClient(made *Node) bool { return made.byClient && !v.isOfLister(made) }

// isOfLister reports whether one that has listed the version has made it.
func (v *version) isOfLister(made *Node) bool {
	return slices.ContainsFunc(v.events, func(e *Node) bool { return e.Controller == made.Controller })
}

// isReported reports whether the storage reports which call has made v, if one has.
func (m *writeIndex) isReported(v *version) bool {
	return m.reported && !m.elsewhere[place{group: v.group, resource: v.resource}]
}

// writeOf returns the call that made v, if it is recorded.
func (m *writeIndex) writeOf(v *version, deletions map[*Node]int) (*Node, Certainty, Rule) {
	made := m.storedBy(v)
	switch {
	case v.listed && (made == nil || !v.isNewsToListers(made)):
		return nil, "", ""
	case v.listed && made.Verb != observe.VerbRestore && !v.isOfOtherClient(made):
		return made, Likely, ByStorage // the record that it had received the version may be dropped
	case made != nil:
		return made, Certain, ByStorage
	}
	if v.lastSeen {
		if by := m.removalAfter(v); by != nil {
			return by, Certain, ByStorage
		}
	}
	if m.isReported(v) && !v.lastSeen {
		return nil, "", ""
	}
	if c, certainty := m.answeringCall(v); c != nil {
		return c, certainty, ByVersion
	}
	if v.deleted {
		if d := m.matchingDeletes(v); len(d) == 1 && (deletions[d[0]] == 1 || d[0].uid != "" && d[0].uid == v.uid()) {
			return d[0], Certain, ByDeletion
		}
	}
	if c := m.concurrentCall(v); c != nil {
		return c, Likely, ByWrite
	}
	if c := m.unencodedDeletion(v); c != nil {
		c.noteUnreported(v)
		return c, Likely, ByWrite
	}
	return nil, "", ""
}

// answeringCall returns the call that was answered with v. A call that began when v was
// already known has changed nothing.
func (m *writeIndex) answeringCall(v *version) (*Node, Certainty) {
	k := objectVersion{v.place, v.number}
	var fresh, doubtful []*Node
	for _, c := range m.answers[k] {
		switch {
		case v.deleted && c.Verb != "delete":
		case c.Verb == "create":
			return c, Certain
		case !m.seen[k].Before(c.Time):
			fresh = append(fresh, c)
		case c.mayPrecede(m.seen[k]):
			doubtful = append(doubtful, c)
		}
	}
	if len(fresh) == 1 && m.isCertain(fresh[0], v) {
		return fresh[0], Certain
	}
	if len(fresh) == 0 {
		fresh = doubtful
	}
	if len(fresh) == 0 {
		return nil, ""
	}
	return slices.MinFunc(fresh, func(a, b *Node) int { return a.End().Compare(b.End()) }), Likely
}

// mayPrecede reports whether c, which seems to have begun after a time, may have begun
// before: its record was delayed, and its sync had begun by then.
func (n *Node) mayPrecede(t time.Time) bool {
	return n.Time.Sub(t) < maxRecordDelay && n.causedBy != nil && n.causedBy.Time.Before(t)
}

// isCertain reports whether the only call that was answered with v has certainly made
// it.
func (m *writeIndex) isCertain(c *Node, v *version) bool {
	switch {
	case v.deleted: // only the call that removes an object is answered with its last version
		return true
	case c.Verb != "update": // a patch or delete without an effect is answered with v even if v is new
		return false
	}
	for _, end := range m.deletions[v.place] {
		if m.overlapsCall(c, end) { // it may have removed the last finalizer
			return false
		}
	}
	return m.highestBefore(c.Time) < observe.VersionNumber(v.number)
}

// matchingDeletes returns the deletes that may have removed the object and were
// answered without it. v is the object's last version.
func (m *writeIndex) matchingDeletes(v *version) []*Node {
	var list []*Node
	for _, c := range m.byPlace[v.place] {
		other := c.uid != "" && v.uid() != "" && c.uid != v.uid() // an earlier object of the same name
		if c.Verb == "delete" && c.Subresource == "" && c.ResourceVersion == "" && !other && m.overlapsCall(c, v) {
			list = append(list, c)
		}
	}
	return list
}

func (m *writeIndex) overlapsCall(c *Node, v *version) bool {
	return isWithin(v.first, c.Time, c.End().Add(maxEventDelay))
}

// concurrentCall returns the call that may have made v although its answer has another
// version or none. Of several it returns the one that began last.
func (m *writeIndex) concurrentCall(v *version) *Node {
	collection := v.place
	collection.name = ""
	var last *Node
	for _, c := range slices.Concat(m.byPlace[v.place], m.byPlace[collection]) {
		if m.overlapsCall(c, v) && m.canProduce(c, v) && (last == nil || c.Time.After(last.Time)) {
			last = c
		}
	}
	return last
}

// canProduce reports whether a call like c can make v.
func (m *writeIndex) canProduce(c *Node, v *version) bool {
	answer, number := observe.VersionNumber(c.ResourceVersion), observe.VersionNumber(v.number)
	switch {
	case c.Verb == "deletecollection":
		return true
	case c.Verb == "create":
		return c.ResourceVersion == "" && c.Object.Name != "" // a binding, an eviction
	case c.ResourceVersion == "":
		return true
	case c.Verb == "delete": // made in two steps; the answer has the last version
		return number < answer
	}
	// The call that removes the last finalizer is answered with the version before.
	return v.deleted && m.seen[objectVersion{v.place, c.ResourceVersion}].Before(c.Time)
}
