package snapshot

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// KeyChange is a write or a deletion of one key.
type KeyChange struct {
	Key              string
	Value            []byte // nil = delete it
	TTL              int    // see Entry
	ExpectedRevision int64  // of the key before the change; 0 = it does not exist
}

// Rank is the same for changes whose order is not important.
func (c KeyChange) Rank() int { return deletionRank(c.Key) }

// Plan is the changes that make one state of another: first Deletes, then Puts. An object
// that has been replaced by another one with the same name is in both, so that clients
// that watch see it deleted and added.
type Plan struct {
	Deletes []KeyChange
	Puts    []KeyChange
	Counts
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
		p.Deletes = append(p.Deletes, KeyChange{Key: e.Key, ExpectedRevision: e.Revision})
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
		case bytes.Equal(was.Value, e.Value):
			if !want.putsAgain(was) {
				continue
			}
			put.ExpectedRevision = was.Revision // nothing of it changes, so it is not counted
		case sameObject(was.Value, e.Value):
			put.ExpectedRevision = was.Revision
			p.Updated++
		default:
			p.Deletes = append(p.Deletes, KeyChange{Key: e.Key, ExpectedRevision: was.Revision})
			p.Replaced++
		}
		p.Puts = append(p.Puts, put)
	}
	// What contains other objects is deleted last and created first.
	slices.SortStableFunc(p.Deletes, func(a, b KeyChange) int { return cmp.Compare(a.Rank(), b.Rank()) })
	slices.SortStableFunc(p.Puts, func(a, b KeyChange) int { return cmp.Compare(b.Rank(), a.Rank()) })
	return p
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
