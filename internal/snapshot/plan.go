package snapshot

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// KeyChange is a change of one key.
type KeyChange struct {
	Key              string
	Value            []byte // nil = delete it
	TTL              int    // see Entry
	ExpectedRevision int64  // the revision that the key has to have, 0 = none
}

// Plan is what makes one state of another: first what goes, then what comes. An
// object that was made anew meanwhile is in both, so that whoever watches sees
// it deleted and added: it is another one under the same name.
type Plan struct {
	Deletes []KeyChange
	Puts    []KeyChange
	Counts
}

// Counts are how many objects a plan changes, and how.
type Counts struct {
	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Replaced int `json:"replaced"` // deleted and created: another object had the name
}

// Total is how many objects there are to change.
func (c Counts) Total() int { return c.Created + c.Updated + c.Deleted + c.Replaced }

// NewPlan compares what there is with what is wanted. Transient keys stay as
// they are, but go with their namespace.
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
			continue
		case sameObject(was.Value, e.Value):
			put.ExpectedRevision = was.Revision
			p.Updated++
		default:
			p.Deletes = append(p.Deletes, KeyChange{Key: e.Key, ExpectedRevision: was.Revision})
			p.Replaced++
		}
		p.Puts = append(p.Puts, put)
	}
	// What holds others goes last and comes first.
	slices.SortStableFunc(p.Deletes, func(a, b KeyChange) int { return cmp.Compare(deletionRank(a.Key), deletionRank(b.Key)) })
	slices.SortStableFunc(p.Puts, func(a, b KeyChange) int { return cmp.Compare(deletionRank(b.Key), deletionRank(a.Key)) })
	return p
}

// deletionRanks are of what holds other objects; those of all else are 0.
var deletionRanks = map[string]int{
	storekeys.Namespaces:                1,
	storekeys.CustomResourceDefinitions: 2,
	storekeys.APIServices:               2,
}

func deletionRank(key string) int { return deletionRanks[storekeys.ResourcePrefix(key)] }

// namespaceRemoved says whether the namespace of a key is not wanted.
func namespaceRemoved(key string, want State) bool {
	ns := storekeys.Parse(key).Namespace()
	if ns == "" {
		return false
	}
	_, ok := want.find("/namespaces/" + ns)
	return !ok
}

func sameObject(a, b []byte) bool {
	x, known := ObjectUID(a)
	y, alsoKnown := ObjectUID(b)
	return known && alsoKnown && x == y
}
