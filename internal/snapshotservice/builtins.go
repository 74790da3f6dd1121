package snapshotservice

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// policyResources are the resource prefixes of what a start of the API server completes: the
// bootstrap policy, and the objects of the APIs that this process serves.
var policyResources = []string{
	storekeys.APIServices, storekeys.ClusterRoleBindings, storekeys.ClusterRoles, storekeys.PriorityClasses, storekeys.RoleBindings, storekeys.Roles,
}

// changesPolicy reports whether what was written may have removed a part of what a start
// completes: the snapshot may be of a release that did not have it yet.
func changesPolicy(written etcd.WriteResult) bool {
	for key := range written.Revisions {
		if slices.Contains(policyResources, storekeys.ResourcePrefix(key)) {
			return true
		}
	}
	return false
}

// The label by which upstream marks the APIServices that the API server creates once after its
// start, see k8s.io/kube-aggregator/pkg/controllers/autoregister.
const autoManagedLabel, autoManagedOnStart = "kube-aggregator.kubernetes.io/automanaged", "onstart"

// withBuiltInAPIs returns want with the APIServices of before that the API server has created
// for its own groups. A snapshot of another release may lack some, and without its
// APIService a group is not served until the next start.
func withBuiltInAPIs(before, want snapshot.State) snapshot.State {
	entries := slices.Clone(want.Entries)
	for _, e := range before.Entries {
		if storekeys.ResourcePrefix(e.Key) == storekeys.APIServices && entryOf(want, e.Key) == nil && isAutoManagedOnStart(e.Value) {
			entries = append(entries, snapshot.Entry{Key: e.Key, Value: e.Value})
		}
	}
	slices.SortFunc(entries, func(a, b snapshot.Entry) int { return cmp.Compare(a.Key, b.Key) })
	want.Entries = entries
	return want
}

// withoutUnservedAPIs returns want without the APIServices of groups that this process does not
// serve. A snapshot of another release may have some; the API server creates those of its own
// groups.
func (s *Service) withoutUnservedAPIs(ctx context.Context, before, want snapshot.State) snapshot.State {
	client, err := discovery.NewDiscoveryClientForConfig(s.cfg.Client)
	if err != nil {
		return want
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout) // for all: writes are blocked
	defer cancel()
	want.Entries = slices.DeleteFunc(slices.Clone(want.Entries), func(e snapshot.Entry) bool {
		return storekeys.ResourcePrefix(e.Key) == storekeys.APIServices && entryOf(before, e.Key) == nil &&
			isAutoManagedOnStart(e.Value) && !serves(ctx, client, storekeys.Parse(e.Key).Name())
	})
	return want
}

// serves reports whether the API server has the group and version of an APIService, if only since
// its start: a user may have deleted the APIService. One that does not answer is taken to have it.
func serves(ctx context.Context, client *discovery.DiscoveryClient, apiService string) bool {
	version, group, _ := strings.Cut(apiService, ".")
	_, err := client.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: group, Version: version}.String())
	return !apierrors.IsNotFound(err)
}

// isAutoManagedOnStart returns false for a value that is encrypted, too.
func isAutoManagedOnStart(value []byte) bool {
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(value, &object) == nil && object.Labels[autoManagedLabel] == autoManagedOnStart
}
