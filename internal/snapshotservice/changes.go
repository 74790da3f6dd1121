package snapshotservice

import (
	"cmp"
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

// changes returns what was written to reach a state, in the order of the writes. An object that another
// one of the same name replaces is deleted before that is written.
func changes(before, want snapshot.State, written etcd.WriteResult, began time.Time) (list []Change) {
	for _, key := range slices.Sorted(maps.Keys(written.Revisions)) {
		last, deletion := written.Revisions[key], written.Deletions[key]
		c := Change{Key: storekeys.Parse(key), Began: began}
		if deletion != 0 {
			c.Revision, c.Deleted, c.Value = deletion, true, valueOf(before, key)
			list = append(list, c)
		}
		if last != deletion {
			c.Revision, c.Deleted, c.Value = last, false, valueOf(want, key)
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(a.Revision, b.Revision) })
	return list
}

func valueOf(s snapshot.State, key string) []byte {
	if e := entryOf(s, key); e != nil {
		return e.Value
	}
	return nil
}

// entryOf returns the entry at a key; nil if there is none.
func entryOf(s snapshot.State, key string) *snapshot.Entry {
	i, ok := findEntry(s.Entries, key)
	if !ok {
		return nil
	}
	return &s.Entries[i]
}

// findEntry returns the index of a key in sorted entries, or where it would be.
func findEntry(entries []snapshot.Entry, key string) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e snapshot.Entry, key string) int { return strings.Compare(e.Key, key) })
}
