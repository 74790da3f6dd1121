package apiserver

import (
	"testing"
	"testing/synctest"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A drain waits for the writes of its namespace that were in flight when it began, and
// for no others.
func TestDrainNamespaceWrites(t *testing.T) {
	var n namespaceWrites
	if !isClosed(n.drain("idle")) {
		t.Error("waits although nothing is in flight")
	}
	first, second, elsewhere := n.begin("a"), n.begin("a"), n.begin("b")
	drained := n.drain("a")
	later := n.begin("a")
	all := n.drain("a")
	n.end(first)
	n.end(elsewhere)
	if isClosed(drained) {
		t.Error("drained while a write is in flight")
	}
	n.end(second)
	if !isClosed(drained) || isClosed(all) {
		t.Errorf("first drained: %v, want true; second: %v, want false", isClosed(drained), isClosed(all))
	}
	n.end(later)
	if !isClosed(all) || len(n.inFlight) != 0 {
		t.Errorf("drained: %v, %d writes left", isClosed(all), len(n.inFlight))
	}
}

// The handler of the write barrier counts the writes.
func TestNamespaceWritesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBarrierFixture()
		f.sendRequest(t.Context(), "alice", "create", "pod")
		drained := f.writes.drain("default")
		if isClosed(drained) {
			t.Error("a create in flight is not counted")
		}
		f.sendRequest(t.Context(), user.APIServerUser, "delete", "pod")
		if got := len(f.writes.inFlight); got != 1 {
			t.Errorf("%d writes are counted, want the create only", got)
		}
		close(f.release)
		<-drained
	})
}

func TestStoresInNamespace(t *testing.T) {
	for want, all := range map[bool][]request.RequestInfo{
		true: {
			{Verb: "create", Resource: "pods"}, {Verb: "update", Resource: "pods", Subresource: "status"}, {Verb: "patch", Resource: "pods"},
			{Verb: "create", APIGroup: "coordination.k8s.io", Resource: "leases"},
			{Verb: "create", APIGroup: "example.com", Resource: "namespaces"},
		},
		false: {
			{Verb: "get", Resource: "pods"}, {Verb: "delete", Resource: "pods"}, {Verb: "deletecollection", Resource: "pods"},
			{Verb: "update", Resource: "namespaces", Subresource: "finalize"},
			{Verb: "create", Resource: "pods", Subresource: "exec"},
			{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
		},
	} {
		for _, info := range all {
			info.IsResourceRequest, info.Namespace = true, "default"
			if storesInNamespace(&info) != want {
				t.Errorf("%+v: want %v", info, want)
			}
		}
	}
	if storesInNamespace(&request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "nodes"}) {
		t.Error("a write outside of namespaces is counted")
	}
}
