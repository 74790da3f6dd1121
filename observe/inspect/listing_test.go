package inspect

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestUsesPreferredVersion(t *testing.T) {
	k := newCluster(t).kinds
	k.serve("example.com/v2", "widgets", "Widget", true) // the fake prefers the first
	k.serve("example.com/v1", "widgets", "Widget", true)
	k.serve("example.com/v1", "gears", "Gear", true)
	served, err := discover(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	for kind, version := range map[string]string{"Widget": "v2", "Gear": "v1"} {
		r, err := served.find(observe.Object{Group: "example.com", Kind: kind})
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
	c := newCluster(t, deployment)
	c.kinds.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	_, err := c.Inspect(t.Context(), webDeployment)
	want := "inspect Deployment shop/web: discover the resources of the API server: connection refused"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
