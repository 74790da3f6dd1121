package snapshot

import (
	"bytes"
	"cmp"
	"slices"
)

// Write is a change of one key.
type Write struct {
	Key   string
	Value []byte // nil = delete it
	TTL   int    // see Entry
	Was   int64  // the revision that the key has to have, 0 = none
}

// Plan is what makes one state of another: first what goes, then what comes. An
// object that was made anew meanwhile is in both, so that whoever watches sees
// it deleted and added: it is another one under the same name.
type Plan struct {
	Deletes []Write
	Puts    []Write
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
		if _, ok := want.find(e.Key); ok && !Transient(e.Key) {
			continue
		}
		if Transient(e.Key) && !orphaned(e.Key, want) {
			continue
		}
		p.Deletes = append(p.Deletes, Write{Key: e.Key, Was: e.Revision})
		p.Deleted++
	}
	for _, e := range want.Entries {
		if Transient(e.Key) {
			continue
		}
		put := Write{Key: e.Key, Value: e.Value, TTL: e.TTL}
		was, ok := now.find(e.Key)
		switch {
		case !ok:
			p.Created++
		case bytes.Equal(was.Value, e.Value):
			continue
		case sameObject(was.Value, e.Value):
			put.Was = was.Revision
			p.Updated++
		default:
			p.Deletes = append(p.Deletes, Write{Key: e.Key, Was: was.Revision})
			p.Replaced++
		}
		p.Puts = append(p.Puts, put)
	}
	// What holds others goes last and comes first.
	slices.SortStableFunc(p.Deletes, func(a, b Write) int { return cmp.Compare(rank(a.Key), rank(b.Key)) })
	slices.SortStableFunc(p.Puts, func(a, b Write) int { return cmp.Compare(rank(b.Key), rank(a.Key)) })
	return p
}

// ranks are of what holds other objects; those of all else are 0.
var ranks = map[string]int{
	"namespaces": 1,
	"apiextensions.k8s.io/customresourcedefinitions": 2,
	"apiregistration.k8s.io/apiservices":             2,
}

func rank(key string) int { return ranks[Folder(key)] }

// orphaned says whether the namespace of a key is not wanted.
func orphaned(key string, want State) bool {
	ns := namespaceOf(key)
	if ns == "" {
		return false
	}
	_, ok := want.find("/namespaces/" + ns)
	return !ok
}

func sameObject(a, b []byte) bool {
	x, known := UID(a)
	y, alsoKnown := UID(b)
	return known && alsoKnown && x == y
}
