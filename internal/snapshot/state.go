package snapshot

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// State is what a store has held at one revision.
type State struct {
	// Revision is the store's, of the control plane that the state was read from.
	Revision int64
	// Entries are in the order of their keys.
	Entries []Entry
	// TTLs are how long entries had left to live.
	TTLs []time.Duration
}

// Entry is a key and what is kept there.
type Entry struct {
	// Key begins with a slash: the prefix of the API server is left out.
	Key   string
	Value []byte
	// TTL says which of State.TTLs is this entry's, from 1; 0 = it stays.
	TTL int
	// Revision is that of the last write; 0 in a state that was read from a file.
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

// WithoutTransient is the state without what is transient.
func (s State) WithoutTransient() State {
	kept := State{Revision: s.Revision, TTLs: s.TTLs}
	for _, e := range s.Entries {
		if !IsTransient(e.Key) {
			kept.Entries = append(kept.Entries, e)
		}
	}
	return kept
}
