package observe

const (
	// maxVersions is how many versions of an object are known by the write that made them.
	maxVersions = 8
	// maxChain is how many records lead to a change, at most twice as many for a while.
	maxChain = 64
)

// objectHistory is what is known of an object that exists.
type objectHistory struct {
	number           uint64 // of the object among those that were seen
	created, changed *versionNode
	versions         [maxVersions]*versionNode
	oldest           int      // of versions
	newest           uint64   // version
	removed          *removal // nil if the object exists, as far as is known
}

// versionNode is a version of an object. Its event is often recorded before the call
// that made it.
type versionNode struct {
	number string
	call   *causeNode // that made it; nil if it was made outside or is not recorded yet
	seen   *causeNode // an event that delivered it, while no call is known
	room   causeNode  // for the first of these
}

// newNode returns a node of a record by which the version is known from now on.
func (v *versionNode) newNode(r *Record) *causeNode {
	if v.room.record != nil && v.seen != &v.room { // a call may have made several versions
		return &causeNode{record: r}
	}
	v.room = causeNode{record: r}
	return &v.room
}

// causeNode is a record, or a sync that has not ended, and what caused it.
type causeNode struct {
	record  *Record // nil while a sync runs
	causes  []*causeNode
	room    [1]*causeNode // for causes: most have one
	version *versionNode  // for an event: what it delivered
}

func (o *objectHistory) find(number string) *versionNode {
	for _, v := range o.versions {
		if v != nil && v.number == number {
			return v
		}
	}
	return nil
}

// version returns the node of a version, and adds it if it is new.
func (o *objectHistory) version(number string) *versionNode {
	if v := o.find(number); v != nil {
		return v
	}
	v := &versionNode{number: number}
	o.versions[o.oldest] = v
	o.newest = max(o.newest, VersionNumber(number))
	o.oldest = (o.oldest + 1) % maxVersions
	return v
}

// origin returns the record by which a version is known: its call, or an event.
func (v *versionNode) origin() *causeNode {
	switch {
	case v == nil:
		return nil
	case v.call != nil:
		return v.call
	}
	return v.seen
}

func (n *causeNode) addCause(c *causeNode) {
	if c == nil {
		return
	}
	if n.causes == nil {
		n.causes = n.room[:0]
	}
	n.causes = append(n.causes, c)
}

// first returns the first cause of a node, or nil.
func (n *causeNode) first() *causeNode {
	if c := n.version.origin(); c != nil {
		return c
	}
	if len(n.causes) > 0 {
		return n.causes[0]
	}
	return nil
}

// isLongerThan reports whether the chain of first causes is longer. What a timer repeats
// without an end, such as the status of a node, is an endless chain.
func (n *causeNode) isLongerThan(most int) bool {
	for ; n != nil; n = n.first() {
		if most--; most < 0 {
			return true
		}
	}
	return false
}

// cutChain bounds what is kept of an endless chain.
func (n *causeNode) cutChain() {
	if n.isLongerThan(2 * maxChain) {
		n.causes = n.copyChain(maxChain, map[*causeNode]*causeNode{}).causes
	}
}

// copyChain copies a chain up to a length. Other chains may share its nodes.
func (n *causeNode) copyChain(length int, copied map[*causeNode]*causeNode) *causeNode {
	if n == nil || length == 0 {
		return nil
	}
	if c := copied[n]; c != nil {
		return c
	}
	c := &causeNode{record: n.record}
	copied[n] = c
	if n.version != nil {
		c.version = &versionNode{number: n.version.number, call: n.version.origin().copyChain(length-1, copied)}
	}
	for _, cause := range n.causes {
		c.addCause(cause.copyChain(length-1, copied))
	}
	return c
}
