package apiserver

import (
	"testing"

	"k8s.io/kubernetes/pkg/kubeapiserver"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// A resource that the API server stores below another name has to be known, or writes
// to it are not counted.
func TestStoreKeysKnowUpstreamsExceptions(t *testing.T) {
	for of, prefix := range kubeapiserver.SpecialDefaultResourcePrefixes {
		if of.Group == "extensions" { // the group is no longer served
			continue
		}
		if got := storekeys.PrefixOf(of.Group, of.Resource); got != prefix {
			t.Errorf("%s: got prefix %s, want %s", of, got, prefix)
		}
		if got := storekeys.Parse("/" + prefix + "/x").Resource(); got != of.String() {
			t.Errorf("prefix %s: got %s, want %s", prefix, got, of)
		}
	}
}
