package snapshot

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// KeyChange is a write or a deletion of one key.
type KeyChange struct {
	Key              string
	Value            []byte // nil = delete it
	TTL              int    // see Entry
	ExpectedRevision int64  // of the key before the change; 0 = it does not exist
	// Rank orders the changes of a list. It is the same for those whose order is not important.
	Rank int
}

// Plan is the changes that make one state of another: first Updates of objects that stay, then Deletes, then Puts. An
// object that has been replaced by another one with the same name is in Deletes and Puts, so that clients
// that watch see it deleted and added. In each list an object is before those that it owns: a client that
// reacts to an event of one of these has most likely received that of the owner, and acts for its restored state.
type Plan struct {
	Updates []KeyChange
	Deletes []KeyChange
	Puts    []KeyChange
	Counts
}

// IsEmpty reports whether nothing is to be changed.
func (p Plan) IsEmpty() bool { return len(p.Updates)+len(p.Deletes)+len(p.Puts) == 0 }

// Changes returns all changes in their order. Those of another list or rank begin when the ones before have ended.
func (p Plan) Changes() iter.Seq[[]KeyChange] {
	return func(yield func([]KeyChange) bool) {
		for _, list := range [][]KeyChange{p.Updates, p.Deletes, p.Puts} {
			for len(list) > 0 {
				n := 1
				for n < len(list) && list[n].Rank == list[0].Rank {
					n++
				}
				if !yield(list[:n]) {
					return
				}
				list = list[n:]
			}
		}
	}
}

// Counts is how many objects a plan changes, and how.
type Counts struct {
	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Replaced int `json:"replaced"` // deleted and created, because another object had the name
}

// Total returns how many objects the plan changes.
func (c Counts) Total() int { return c.Created + c.Updated + c.Deleted + c.Replaced }

// Add adds the counts of another plan.
func (c *Counts) Add(o Counts) {
	c.Created += o.Created
	c.Updated += o.Updated
	c.Deleted += o.Deleted
	c.Replaced += o.Replaced
}

// NewPlan returns the changes that make now equal to want. It does not change transient
// keys, but deletes them with their namespace.
func NewPlan(now, want State) Plan {
	var p Plan
	for _, e := range now.Entries {
		if _, ok := want.find(e.Key); ok && !IsTransient(e.Key) {
			continue
		}
		if IsTransient(e.Key) && !namespaceRemoved(e.Key, want) {
			continue
		}
		p.delete(e)
		p.Deleted++
	}
	for _, e := range want.Entries {
		if IsTransient(e.Key) {
			continue
		}
		put := KeyChange{Key: e.Key, Value: e.Value, TTL: e.TTL}
		was, ok := now.find(e.Key)
		switch {
		case !ok:
			p.Created++
			p.Puts = append(p.Puts, put)
		case bytes.Equal(was.Value, e.Value):
			if want.putsAgain(was) { // nothing of it changes, so it is not counted
				p.update(put, was)
			}
		case sameObject(was.Value, e.Value):
			p.update(put, was)
			p.Updated++
		default:
			p.delete(was)
			p.Puts = append(p.Puts, put)
			p.Replaced++
		}
	}
	// What contains other objects is deleted last and created first.
	rank(p.Updates, want, -1)
	rank(p.Deletes, now, 1)
	rank(p.Puts, want, -1)
	return p
}

func (p *Plan) update(put KeyChange, was Entry) {
	put.ExpectedRevision = was.Revision
	p.Updates = append(p.Updates, put)
}

func (p *Plan) delete(was Entry) {
	p.Deletes = append(p.Deletes, KeyChange{Key: was.Key, ExpectedRevision: was.Revision})
}

// rank sets the ranks of changes and sorts by them: by what contains other objects, in a direction, and then by how
// many owners are above an object. in has the objects.
func rank(changes []KeyChange, in State, direction int) {
	objects, owners := make([]identity, len(changes)), map[string][]string{}
	for i, c := range changes {
		e, _ := in.find(c.Key)
		objects[i], _ = identify(e.Value)
		owners[objects[i].uid] = objects[i].owners
	}
	above := map[string]int{} // by UID; 0 while it is computed, which ends a cycle
	var depth func(owned []string) int
	depth = func(owned []string) (deepest int) {
		for _, uid := range owned {
			if _, known := above[uid]; !known {
				above[uid] = 0
				above[uid] = depth(owners[uid])
			}
			deepest = max(deepest, above[uid]+1)
		}
		return deepest
	}
	for i := range changes {
		changes[i].Rank = direction*(len(changes)+1)*deletionRank(changes[i].Key) + depth(objects[i].owners)
	}
	slices.SortStableFunc(changes, func(a, b KeyChange) int { return cmp.Compare(a.Rank, b.Rank) })
}

func (s State) putsAgain(now Entry) bool {
	upTo, ok := s.PutAgain[storekeys.ResourcePrefix(now.Key)]
	return ok && now.Revision <= upTo
}

// Wants reports whether a change may be part of a plan for this state: of a key from one
// value to another, where nil means that the key does not exist. Transient keys do not
// belong to any state.
func (s State) Wants(key string, from, to []byte) bool {
	e, ok := s.find(key)
	switch {
	case IsTransient(key):
		return true
	case to != nil:
		return ok && bytes.Equal(to, e.Value)
	}
	// e may have expired since. Values that are encrypted have no UID to compare.
	return !ok || e.TTL > 0 || from != nil && !bytes.Equal(from, e.Value) && !sameObject(from, e.Value)
}

// deletionRanks has the resources whose objects contain others; all others have 0.
var deletionRanks = map[string]int{
	storekeys.Namespaces:                1,
	storekeys.CustomResourceDefinitions: 2,
	storekeys.APIServices:               2,
}

func deletionRank(key string) int { return deletionRanks[storekeys.ResourcePrefix(key)] }

// namespaceRemoved reports whether the namespace of a key is not in want.
func namespaceRemoved(key string, want State) bool {
	ns := storekeys.Parse(key).Namespace()
	if ns == "" {
		return false
	}
	_, ok := want.find("/namespaces/" + ns)
	return !ok
}

func sameObject(a, b []byte) bool {
	_, x, known := Identify(a)
	_, y, alsoKnown := Identify(b)
	return known && alsoKnown && x == y
}
