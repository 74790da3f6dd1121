package health

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// cluster is a fake API server.
type cluster struct {
	*Waiter
	kinds   *fake.FakeDiscovery
	objects *dynamicfake.FakeDynamicClient
}

// servedKinds lists the kinds of a cluster.
var servedKinds = []struct {
	gv, resource, kind string
	namespaced         bool
}{
	{"v1", "namespaces", "Namespace", false},
	{"v1", "nodes", "Node", false},
	{"v1", "pods", "Pod", true},
	{"v1", "services", "Service", true},
	{"v1", "endpoints", "Endpoints", true},
	{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice", true},
	{"v1", "configmaps", "ConfigMap", true},
	{"v1", "secrets", "Secret", true},
	{"v1", "events", "Event", true},
	{"v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
	{"v1", "persistentvolumes", "PersistentVolume", false},
	{"v1", "replicationcontrollers", "ReplicationController", true},
	{"apps/v1", "deployments", "Deployment", true},
	{"apps/v1", "replicasets", "ReplicaSet", true},
	{"apps/v1", "statefulsets", "StatefulSet", true},
	{"apps/v1", "daemonsets", "DaemonSet", true},
	{"batch/v1", "jobs", "Job", true},
	{"batch/v1", "cronjobs", "CronJob", true},
	{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true},
	{"v1", "serviceaccounts", "ServiceAccount", true},
	{"networking.k8s.io/v1", "ingresses", "Ingress", true},
	{"networking.k8s.io/v1", "ingressclasses", "IngressClass", false},
	{"resource.k8s.io/v1", "resourceclaims", "ResourceClaim", true},
	{"resource.k8s.io/v1", "deviceclasses", "DeviceClass", false},
	{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
	{"rbac.authorization.k8s.io/v1", "roles", "Role", true},
	{"rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", false},
	{"rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", true},
	{"rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", false},
	{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false},
	{"apiregistration.k8s.io/v1", "apiservices", "APIService", false},
}

// newCluster returns a server with objects, given as YAML, and with the nodes n1 and node-1.
func newCluster(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{
		widgets: "WidgetList", rollouts: "RolloutList", rollouts.GroupVersion().WithResource("analysisruns"): "AnalysisRunList",
	}
	c := &cluster{kinds: &fake.FakeDiscovery{Fake: &clienttesting.Fake{}}}
	for _, k := range servedKinds {
		c.serve(k.gv, k.resource, k.kind, k.namespaced)
		gv, err := schema.ParseGroupVersion(k.gv)
		if err != nil {
			t.Fatal(err)
		}
		lists[gv.WithResource(k.resource)] = k.kind + "List"
	}
	var objects []runtime.Object
	nodes := map[string]bool{"n1": true, "node-1": true}
	for _, m := range manifests {
		u := parseObject(t, m)
		objects = append(objects, u)
		if u.GetKind() == "Node" {
			delete(nodes, u.GetName())
		}
	}
	for name := range nodes {
		objects = append(objects, parseObject(t, "{apiVersion: v1, kind: Node, metadata: {name: "+name+"}}"))
	}
	c.objects = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	c.Waiter = &Waiter{kinds: c.kinds, objects: c.objects}
	return c
}

// Why says why an object is not healthy, of one that is examined alone.
func (c *cluster) Why(ctx context.Context, u *unstructured.Unstructured) string {
	return c.newSearch(ctx, searchOptions{}, nil).why(u)
}

// serve adds a kind. It must not run concurrently with discovery.
func (c *cluster) serve(gv, resource, kind string, namespaced bool, verbs ...string) {
	r := metav1.APIResource{Name: resource, Kind: kind, Namespaced: namespaced, Verbs: verbs}
	if len(verbs) == 0 {
		r.Verbs = metav1.Verbs{"get", "list", "watch"}
	}
	for _, list := range c.kinds.Resources {
		if list.GroupVersion == gv {
			list.APIResources = append(list.APIResources, r)
			return
		}
	}
	c.kinds.Resources = append(c.kinds.Resources, &metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{r}})
}

// parseObject parses YAML. An object without a UID gets one made from its name.
func parseObject(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	if u.GetUID() == "" {
		u.SetUID(types.UID("uid-of-" + u.GetName()))
	}
	return u
}

// create and update change the objects of the cluster.
func (c *cluster) create(t *testing.T, r schema.GroupVersionResource, manifest string) {
	t.Helper()
	u := parseObject(t, manifest)
	if err := c.objects.Tracker().Create(r, u, u.GetNamespace()); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) update(t *testing.T, r schema.GroupVersionResource, manifest string) {
	t.Helper()
	u := parseObject(t, manifest)
	if err := c.objects.Tracker().Update(r, u, u.GetNamespace()); err != nil {
		t.Fatal(err)
	}
}

// documents splits YAML into documents.
func documents(text string) []string { return strings.Split(strings.TrimSpace(text), "\n---\n") }

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pods        = coreResource("pods")
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	rollouts    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
)

const (
	rolledOut = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web, generation: 1}
spec: {replicas: 2, progressDeadlineSeconds: 600}
status:
  observedGeneration: 1
  replicas: 2
  updatedReplicas: 2
  readyReplicas: 2
  availableReplicas: 2
  conditions:
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable}
  - {type: Available, status: "True"}`
	justMade = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web, generation: 1}
spec: {replicas: 2, progressDeadlineSeconds: 600}`
	widget     = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, generation: 1}}`
	runningPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: p}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`
	failedPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: p}
status: {phase: Failed, reason: Evicted, message: The node was low on memory.}`
)
