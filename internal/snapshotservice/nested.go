package snapshotservice

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// namespaceOfAll is the key of a namespace that every control plane has.
const namespaceOfAll = "/" + storekeys.Namespaces + "/kube-system"

// checkNested fails if another control plane keeps its state below the prefix of this one: a restore
// would delete it.
func (t Target) checkNested(state snapshot.State) error {
	nested := nestedPrefix(state)
	if nested == "" {
		return nil
	}
	return usage.Errorf("a restore replaces all keys below %[1]s in etcd, and another control plane has its own below %[1]s%[2]s: start that one from a snapshot of it with an etcd-prefix that is not below %[1]s, or delete its keys if it does not exist any more", t.Prefix, nested)
}

// checkSaved fails if a snapshot would contain the state of such a control plane: where it is restored, it
// would refuse all later restores.
func (t Target) checkSaved(state snapshot.State) error {
	nested := nestedPrefix(state)
	if nested == "" {
		return nil
	}
	return usage.Errorf("nothing was saved: a snapshot has all keys below %[1]s in etcd, and another control plane has its own below %[1]s%[2]s: start that one with an etcd-prefix that is not below %[1]s, or delete its keys if it does not exist any more", t.Prefix, nested)
}

// nestedPrefix returns below which key of a state another control plane keeps its own, "" for none.
func nestedPrefix(state snapshot.State) string {
	for _, e := range state.Entries {
		prefix, ok := strings.CutSuffix(e.Key, namespaceOfAll)
		if ok && prefix != "" && !isObject(state, e.Key) {
			return prefix
		}
	}
	return ""
}

// isObject reports whether a key is that of an object of a resource of this control plane: an object in a
// namespace that is called namespaces, or one of another resource of that name.
func isObject(state snapshot.State, key string) bool {
	parsed := storekeys.Parse(key)
	resource := parsed.Resource()
	if group, _, _ := strings.Cut(parsed.ResourcePrefix, "/"); !strings.Contains(group, ".") {
		return resource != "" // only built-in ones have no group there
	}
	definition := "/" + storekeys.CustomResourceDefinitions + "/" + resource
	return slices.ContainsFunc(state.Entries, func(e snapshot.Entry) bool { return e.Key == definition })
}
