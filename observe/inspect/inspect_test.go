package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestInspect(t *testing.T) {
	c := newCluster(t, deployment, replicaSet, podB, podA)
	got, err := c.Inspect(t.Context(), observe.Object{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := observe.Inspection{
		Object: webReplicaSet,
		YAML: `apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  ownerReferences:
  - apiVersion: apps/v1
    kind: Deployment
    name: web
    uid: uid-of-web
  uid: uid-of-web-1
`,
		Owners:     []observe.Object{webDeployment},
		Dependents: []observe.Object{pod("web-1-a"), pod("web-1-b")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInspectByResourceOrKind(t *testing.T) {
	for name, o := range map[string]observe.Object{
		"resource":             {Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"},
		"kind":                 {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		"both":                 {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web"},
		"resource, wrong kind": {Group: "apps", Resource: "deployments", Kind: "Job", Namespace: "shop", Name: "web"},
		"no group":             {Kind: "Deployment", Namespace: "shop", Name: "web"},
		"UID":                  webDeployment,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newCluster(t, deployment).Inspect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(webDeployment, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got.YAML, "managedFields") || !strings.Contains(got.YAML, "replicas: 2") {
				t.Errorf("text:\n%s", got.YAML)
			}
		})
	}
}

func TestInspectClusterScoped(t *testing.T) {
	c := newCluster(t, `{apiVersion: v1, kind: Node, metadata: {name: n1}}`,
		`{apiVersion: v1, kind: Pod, metadata: {namespace: other, name: p, ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: uid-of-n1}]}}`)
	got, err := c.Inspect(t.Context(), observe.Object{Resource: "nodes", Namespace: "stray", Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1", UID: "uid-of-n1"}
	if got.Object != node {
		t.Errorf("got %+v, want %+v", got.Object, node)
	}
	p := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "other", Name: "p", UID: "uid-of-p"}
	if diff := cmp.Diff([]observe.Object{p}, got.Dependents); diff != "" {
		t.Errorf("dependents (-want +got):\n%s", diff)
	}

	got, err = c.Inspect(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]observe.Object{node}, got.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestInspectGone(t *testing.T) {
	for name, o := range map[string]observe.Object{
		"no such name": {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "gone", UID: "uid-of-gone"},
		"another UID":  {Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "before"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newCluster(t, deployment, replicaSet).Inspect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(observe.Inspection{Object: o, Gone: true}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInspectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		o    observe.Object
		want string
	}{
		"no name":        {observe.Object{Resource: "pods", Namespace: "shop"}, "inspect pods in shop: an object needs a name, and a resource or a kind"},
		"only a name":    {observe.Object{Namespace: "shop", Name: "x"}, "an object needs a name, and a resource or a kind"},
		"no namespace":   {observe.Object{Resource: "pods", Name: "x"}, "inspect pods x: pods are namespaced: set the namespace"},
		"no such kind":   {observe.Object{Group: "example.com", Kind: "Widget", Name: "x"}, "inspect Widget x: Widget.example.com: not served by the API server"},
		"a subresource":  {observe.Object{Resource: "pods/nothing", Namespace: "shop", Name: "x"}, "pods/nothing: not served by the API server"},
		"two groups":     {observe.Object{Resource: "gears", Name: "x"}, "gears is served in the groups a.example, b.example: set the group"},
		"server refuses": {observe.Object{Resource: "secrets", Namespace: "shop", Name: "x"}, `inspect secrets shop/x: secrets is forbidden`},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, deployment)
			cluster.kinds.serve("a.example/v1", "gears", "Gear", false)
			cluster.kinds.serve("b.example/v1", "gears", "Gear", false)
			cluster.objects.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, forbidden("secrets")
			})
			got, err := cluster.Inspect(t.Context(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(observe.Inspection{}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnerOfUnservedKind(t *testing.T) {
	c := newCluster(t, `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p, ownerReferences: [`+
		`{apiVersion: example.com/v1, kind: Widget, name: w, uid: u}, {apiVersion: a/b/c, kind: Bad, name: b, uid: v}]}}`)
	got, err := c.Inspect(t.Context(), pod("p"))
	want := []observe.Object{{Group: "example.com", Kind: "Widget", Name: "w", UID: "u"}, {Kind: "Bad", Name: "b", UID: "v"}}
	if diff := cmp.Diff(want, got.Owners); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), ": incomplete: ") || !strings.Contains(err.Error(), "owner Bad b: unexpected GroupVersion string: a/b/c") {
		t.Errorf("got %v", err)
	}
}
