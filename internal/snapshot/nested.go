package snapshot

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// namespaceOfAll is the key of a namespace that every control plane has.
const namespaceOfAll = "/" + storekeys.Namespaces + "/kube-system"

// NestedPrefix returns below which key of a state another control plane keeps its own, "" for none.
func (s State) NestedPrefix() string {
	for _, e := range s.Entries {
		prefix, ok := strings.CutSuffix(e.Key, namespaceOfAll)
		if ok && prefix != "" && !s.hasObject(e.Key) {
			return prefix
		}
	}
	return ""
}

// hasObject reports whether a key is that of an object of a resource of this control plane: an object in a
// namespace that is called namespaces, or one of another resource of that name.
func (s State) hasObject(key string) bool {
	parsed := storekeys.Parse(key)
	resource := parsed.Resource()
	if group, _, _ := strings.Cut(parsed.ResourcePrefix, "/"); !strings.Contains(group, ".") {
		return resource != "" // only built-in ones have no group there
	}
	definition := "/" + storekeys.CustomResourceDefinitions + "/" + resource
	return slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Key == definition })
}
