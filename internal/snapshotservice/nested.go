package snapshotservice

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// checkNested fails if another control plane keeps its state below the prefix of this one: a restore
// would delete it.
func (t Target) checkNested(state snapshot.State) error {
	nested := state.NestedPrefix()
	if nested == "" {
		return nil
	}
	return usage.Errorf("a restore replaces all keys below %[1]s in etcd, and another control plane has its own below %[1]s%[2]s: start that one from a snapshot of it with an etcd-prefix that is not below %[1]s, or delete its keys if it does not exist any more", t.Prefix, nested)
}

// checkSaved fails if a snapshot would contain the state of such a control plane: where it is restored, it
// would refuse all later restores.
func (t Target) checkSaved(state snapshot.State) error {
	nested := state.NestedPrefix()
	if nested == "" {
		return nil
	}
	return usage.Errorf("a snapshot has all keys below %[1]s in etcd, and another control plane has its own below %[1]s%[2]s: start that one with an etcd-prefix that is not below %[1]s, or delete its keys if it does not exist any more", t.Prefix, nested)
}

// withoutNested returns a state without those of such control planes.
func withoutNested(state snapshot.State) snapshot.State {
	for nested := state.NestedPrefix(); nested != ""; nested = state.NestedPrefix() {
		state.Entries = slices.DeleteFunc(slices.Clone(state.Entries), func(e snapshot.Entry) bool {
			return strings.HasPrefix(e.Key, nested+"/")
		})
	}
	return state
}
