package snapshot

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// State is the content of a store at one revision.
type State struct {
	// Revision is that of the store that the state was read from.
	Revision int64
	// Entries are sorted by key.
	Entries []Entry
	// TTLs are the remaining lifetimes of entries.
	TTLs []time.Duration
	// PutAgain has resource prefixes whose entries a plan puts even if they are equal, unless they
	// were written after the given revision.
	PutAgain map[string]int64
}

// Entry is a key and its value.
type Entry struct {
	// Key begins with a slash, without the prefix of the API server.
	Key   string
	Value []byte
	// TTL is the index of the entry's lifetime in State.TTLs, from 1; 0 = unlimited.
	TTL int
	// Revision is that of the last write; 0 if the state was read from a file.
	Revision int64
}

// transientPrefixes are the resource prefixes of keys that show that a process runs.
var transientPrefixes = []string{storekeys.Leases, "masterleases", "peerserverleases"}

// IsTransient reports whether a key is not part of the state: Leases, and the API
// server's own keys, say that a process runs.
func IsTransient(key string) bool {
	return slices.Contains(transientPrefixes, storekeys.ResourcePrefix(key))
}

// find returns the entry of a key.
func (s State) find(key string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(s.Entries, key, func(e Entry, key string) int { return strings.Compare(e.Key, key) })
	if !ok {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// Has reports whether the state has an entry with the same key and value.
func (s State) Has(e Entry) bool {
	has, ok := s.find(e.Key)
	return ok && bytes.Equal(has.Value, e.Value)
}

// WithoutTransient returns the state without transient keys.
func (s State) WithoutTransient() State {
	kept := State{Revision: s.Revision, TTLs: s.TTLs}
	for _, e := range s.Entries {
		if !IsTransient(e.Key) {
			kept.Entries = append(kept.Entries, e)
		}
	}
	return kept
}
