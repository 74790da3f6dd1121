package apiserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
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

// Upstream may still store the object of a request that was canceled: it has left it to
// another goroutine.
func TestCanceledWriteIsCountedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBarrierFixture()
		ctx, cancel := context.WithCancel(t.Context())
		answer := f.sendRequest(ctx, "alice", "create", "pod")
		cancel()
		close(f.release)
		<-answer
		drained := f.writes.drain("default")
		<-time.After(upstreamNamespaceGrace - 1)
		synctest.Wait()
		if isClosed(drained) {
			t.Error("the write is not counted")
		}
		<-time.After(1)
		synctest.Wait()
		if !isClosed(drained) {
			t.Error("the write is counted for ever")
		}
		f.writes.endAfterGrace(f.writes.begin("default"))
		f.writes.stop() // or the bubble does not end
	})
}

// An aggregated API server admits writes until it has observed the deletion itself,
// which this one cannot know.
func TestDrainWaitsForAggregatedServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		services := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		s := &Server{informers: shared, apiServices: listers.NewAPIServiceLister(services), namespaceWrites: &namespaceWrites{}}
		add := func(a *apiregistrationv1.APIService) {
			t.Helper()
			if err := services.Add(a); err != nil {
				t.Fatal(err)
			}
		}
		add(&apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.local"}})
		if !isClosed(s.DrainNamespace("ns")) {
			t.Error("waits although no API server is aggregated")
		}
		add(&apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.example.com"}, Spec: apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{}}})
		began := time.Now()
		<-s.DrainNamespace("ns")
		if took := time.Since(began); took != upstreamNamespaceGrace {
			t.Errorf("waited for %v", took)
		}
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
			{Verb: "create", Resource: "serviceaccounts", Subresource: "token"},
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
