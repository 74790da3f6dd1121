package snapshotservice

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// Change is what a restore has done to an object.
type Change struct {
	Key      storekeys.Key
	Revision int64
	Deleted  bool
	Value    []byte // as it is stored or, if the object was deleted, was
	Began    time.Time
}

// changes returns what was written to reach a state, in the order of the writes.
func changes(before, want snapshot.State, written etcd.WriteResult, began time.Time) (list []Change) {
	for _, key := range slices.Sorted(maps.Keys(written.Revisions)) {
		c := Change{Key: storekeys.Parse(key), Revision: written.Revisions[key], Began: began}
		e := entryOf(want, key)
		if c.Deleted = e == nil; c.Deleted {
			e = entryOf(before, key)
		}
		if e != nil {
			c.Value = e.Value
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Change) int { return int(a.Revision - b.Revision) })
	return list
}

// entryOf returns the entry at a key; nil if there is none.
func entryOf(s snapshot.State, key string) *snapshot.Entry {
	i, ok := slices.BinarySearchFunc(s.Entries, key, func(e snapshot.Entry, key string) int { return strings.Compare(e.Key, key) })
	if !ok {
		return nil
	}
	return &s.Entries[i]
}
