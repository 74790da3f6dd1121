package clients

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A write that has had no answer for long is named, with the object that it is to create.
func TestUnansweredWrites(t *testing.T) { synctest.Test(t, testUnansweredWrites) }

func testUnansweredWrites(t *testing.T) {
	f := newFixture(t)
	unanswered := func(d time.Duration) (int64, []observe.UnansweredWrite) {
		return f.clients.sorted()[0].unanswered.snapshot(time.Now().Add(d))
	}
	const shop = `{"kind":"Site","metadata":{"name":"shop","ownerReferences":[{"kind":"Shop","name":"all","uid":"u1"}]}}`
	requireUnanswered := func(verb string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if n, list := unanswered(0); n != 1 || len(list) > 0 {
				t.Errorf("%s, just now: %d, %+v", verb, n, list)
			}
			n, list := unanswered(minUnanswered)
			want := []observe.UnansweredWrite{{
				Controller: "shop-operator (" + operator.Name + ")", Verb: verb,
				Object: observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "ns", Name: "shop"},
				Owner:  &observe.Object{Kind: "Shop", Name: "all", UID: "u1"},
			}}
			if len(list) == 1 {
				want[0].Since = list[0].Since
			}
			if diff := cmp.Diff(want, list); n != 1 || diff != "" {
				t.Errorf("%s: %d, %s", verb, n, diff)
			}
			w.WriteHeader(http.StatusCreated)
		}
	}
	f.handle(http.MethodPost, sites, shop, requireUnanswered("create"))
	f.handleType("application/apply-patch+yaml", http.MethodPatch, sites+"/shop", shop, requireUnanswered("patch"))
	if n, list := unanswered(time.Hour); n != 0 || len(list) > 0 {
		t.Errorf("after the answer: %d, %+v", n, list)
	}
	f.handle(http.MethodGet, sites, "", func(http.ResponseWriter) {
		if n, _ := unanswered(time.Hour); n != 0 {
			t.Error("a read counts")
		}
	})
}

// A control plane is not settled right after a write, also if it has failed. Leases and Events have no effects,
// and a review or a request for a token stores nothing.
func TestWritesAreActivity(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int
		counts       bool
	}{
		{http.MethodPost, sites, http.StatusCreated, true},
		{http.MethodPost, sites, http.StatusConflict, true},
		{http.MethodGet, sites, http.StatusOK, false},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/shop", http.StatusOK, false},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/ns/events", http.StatusCreated, false},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", http.StatusCreated, false},
		{http.MethodPost, "/api/v1/namespaces/ns/serviceaccounts/web/token", http.StatusCreated, false},
		{http.MethodPost, "/api/v1/namespaces/ns/pods/web/exec", http.StatusOK, false},
		{http.MethodPost, "/api/v1/namespaces/ns/pods/web/eviction", http.StatusCreated, true},
		{http.MethodPost, "/ctrlplane/v1/controllers/pause", http.StatusOK, false},
	} {
		f := newFixture(t)
		f.handle(tt.method, tt.path, "{}", func(w http.ResponseWriter) { w.WriteHeader(tt.status) })
		s, err := f.observer.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last, who := s.Process.LastActivity, ""
		if tt.counts {
			who = "shop-operator (" + operator.Name + ")"
		}
		if last.IsZero() == tt.counts || !s.Process.Quiet && s.Process.LastActive != who {
			t.Errorf("%s %s: %d: activity at %v of %q, want %v", tt.method, tt.path, tt.status, last, s.Process.LastActive, tt.counts)
		}
	}
}

// Of many writes the oldest ones are named, in order.
func TestOldestUnansweredWrites(t *testing.T) {
	now, u := time.Now(), unanswered{}
	for i := range maxUnanswered + 2 {
		age := time.Duration(i+1) * time.Minute
		u.begin(&request{req: &http.Request{}, call: &observe.Called{Verb: "update", Began: now.Add(-age), Object: observe.Object{Resource: "sites", Name: age.String()}}})
	}
	n, list := u.snapshot(now)
	if n != maxUnanswered+2 || len(list) != maxUnanswered || list[0].Object.Name != "12m0s" || list[maxUnanswered-1].Object.Name != "3m0s" {
		t.Errorf("%d, %+v", n, list)
	}
}
