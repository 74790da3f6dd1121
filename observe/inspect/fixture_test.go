package inspect

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/observe"
)

// cluster is a fake API server.
type cluster struct {
	*Inspector
	kinds    *fakeDiscovery
	objects  *dynamicfake.FakeDynamicClient
	metadata *metadatafake.FakeMetadataClient
}

// fakeDiscovery is a discovery client in which one group can fail.
type fakeDiscovery struct {
	*fake.FakeDiscovery
	broken string
}

func (k *fakeDiscovery) ServerResourcesForGroupVersionWithContext(ctx context.Context, gv string) (*metav1.APIResourceList, error) {
	if gv == k.broken {
		return nil, apierrors.NewServiceUnavailable("the server is\ncurrently unable to handle the request")
	}
	return k.FakeDiscovery.ServerResourcesForGroupVersionWithContext(ctx, gv)
}

// serve adds a resource.
func (k *fakeDiscovery) serve(gv, name, kind string, namespaced bool, verbs ...string) {
	r := metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: verbs}
	if len(verbs) == 0 {
		r.Verbs = metav1.Verbs{"create", "delete", "get", "list", "update", "watch"}
	}
	for _, list := range k.Resources {
		if list.GroupVersion == gv {
			list.APIResources = append(list.APIResources, r)
			return
		}
	}
	k.Resources = append(k.Resources, &metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{r}})
}

// newCluster returns a server with objects, given as YAML.
func newCluster(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	k := &fakeDiscovery{FakeDiscovery: &fake.FakeDiscovery{Fake: &clienttesting.Fake{}}}
	k.serve("v1", "namespaces", "Namespace", false)
	k.serve("v1", "nodes", "Node", false)
	k.serve("v1", "pods", "Pod", true)
	k.serve("v1", "pods/status", "Pod", true, "get", "update")
	k.serve("v1", "secrets", "Secret", true)
	k.serve("v1", "events", "Event", true)
	k.serve("v1", "componentstatuses", "ComponentStatus", false, "get", "list")
	k.serve("apps/v1", "deployments", "Deployment", true)
	k.serve("apps/v1", "replicasets", "ReplicaSet", true)
	k.serve("metrics.k8s.io/v1beta1", "pods", "PodMetrics", true, "get", "list")

	var full, partial []runtime.Object
	for _, manifest := range manifests {
		u := parseObject(t, manifest)
		full = append(full, u)
		partial = append(partial, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), OwnerReferences: u.GetOwnerReferences(),
			},
		})
	}
	scheme := metadatafake.NewTestScheme()
	metav1.AddMetaToScheme(scheme)
	c := &cluster{
		kinds:    k,
		objects:  dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), full...),
		metadata: metadatafake.NewSimpleMetadataClient(scheme, partial...),
	}
	c.Inspector = &Inspector{kinds: k, objects: c.objects, metadata: c.metadata, timeout: inspectTimeout}
	return c
}

// refuse makes every list of a resource fail.
func (c *cluster) refuse(resource string, err error) {
	c.metadata.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, err
	})
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
}

func parseObject(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatal(err)
	}
	if u.GetUID() == "" {
		u.SetUID(types.UID("uid-of-" + u.GetName()))
	}
	return u
}

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, managedFields: [{manager: me}]}, spec: {replicas: 2}}`
	replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-1, ` +
		`ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: uid-of-web}]}}`
	podB = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web-1-b, ` + ownedByReplicaSet + `}}`
	podA = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web-1-a, ` + ownedByReplicaSet + `}}`

	ownedByReplicaSet = `ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: uid-of-web-1}]`
)

var (
	webDeployment = observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-of-web"}
	webReplicaSet = observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "shop", Name: "web-1", UID: "uid-of-web-1"}
)

func pod(name string) observe.Object {
	return observe.Object{Resource: "pods", Kind: "Pod", Namespace: "shop", Name: name, UID: "uid-of-" + name}
}
