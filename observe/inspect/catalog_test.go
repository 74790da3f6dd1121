package inspect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

var widget = observe.Object{Group: "example.com", Kind: "Widget", Name: "w"}

func TestFindsNewKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t).kinds
		c := newCatalog(k)
		if _, err := c.find(t.Context(), observe.Object{Resource: "pods"}); err != nil {
			t.Fatal(err)
		}
		k.serve("example.com/v1", "widgets", "Widget", true)
		time.Sleep(minRefreshInterval)
		r, err := c.find(t.Context(), widget)
		if err != nil || r.Resource != "widgets" || r.Version != "v1" || !r.namespaced {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestUnknownKindsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t).kinds
		c := newCatalog(k)
		for range 50 { // 5 s
			if _, err := c.find(t.Context(), widget); !errors.Is(err, errNotServed) {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if k.asked != 3 {
			t.Errorf("%d discoveries in 5 s, want 3", k.asked)
		}
	})
}

func TestOldListingIsRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t).kinds
		c := newCatalog(k)
		for range 24 { // 24 s
			if _, err := c.find(t.Context(), observe.Object{Resource: "pods"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if k.asked != 3 {
			t.Errorf("%d discoveries in 24 s, want 3", k.asked)
		}
	})
}

func TestUsesPreferredVersion(t *testing.T) {
	k := newCluster(t).kinds
	k.serve("example.com/v2", "widgets", "Widget", true) // the fake prefers the first
	k.serve("example.com/v1", "widgets", "Widget", true)
	k.serve("example.com/v1", "gears", "Gear", true)
	c := newCatalog(k)
	for kind, version := range map[string]string{"Widget": "v2", "Gear": "v1"} {
		r, err := c.find(t.Context(), observe.Object{Group: "example.com", Kind: kind})
		if err != nil || r.Version != version {
			t.Errorf("%s: got %+v, %v; want %s", kind, r, err, version)
		}
	}
}

func TestBrokenGroupHidesNoOtherGroup(t *testing.T) {
	c := newCluster(t, deployment, replicaSet, podA)
	c.kinds.broken = "metrics.k8s.io/v1beta1"
	got, err := c.Inspect(t.Context(), webReplicaSet)
	if diff := cmp.Diff([]observe.Object{pod("web-1-a")}, got.Dependents); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.YAML == "" || len(got.Owners) != 1 {
		t.Errorf("the rest is missing: %+v", got)
	}
	if err == nil || !strings.Contains(err.Error(), ": incomplete: ") || !strings.Contains(err.Error(), c.kinds.broken) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names the group", err)
	}

	_, err = c.Inspect(t.Context(), observe.Object{Group: "metrics.k8s.io", Kind: "PodMetrics", Namespace: "shop", Name: "p"})
	if !errors.Is(err, errNotServed) || !strings.Contains(err.Error(), "its group is unavailable") || !strings.Contains(err.Error(), "currently unable") {
		t.Errorf("got %v, want the reason why it is unknown", err)
	}
}

func TestDiscoveryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, deployment)
		c.kinds.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		_, err := c.Inspect(t.Context(), webDeployment)
		want := "inspect Deployment shop/web: discover the resources of the API server: connection refused"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}

		failing := c.kinds.ReactionChain
		c.kinds.ReactionChain = nil
		if _, err := c.Inspect(t.Context(), webDeployment); err != nil {
			t.Fatal(err)
		}
		c.kinds.ReactionChain = failing
		time.Sleep(maxListingAge)
		got, err := c.Inspect(t.Context(), webDeployment)
		if got.YAML == "" {
			t.Error("the previous listing is not used")
		}
		if err == nil || !strings.Contains(err.Error(), ": incomplete: ") || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want that kinds may be missing", err)
		}
	})
}

func TestWaitForCatalogRespectsContext(t *testing.T) {
	c := newCatalog(newCluster(t).kinds)
	c.lock <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.find(ctx, widget); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
