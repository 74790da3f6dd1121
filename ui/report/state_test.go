package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	stuckDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web, generation: 1}
spec: {replicas: 2}`
	itsReplicaSet = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: web-1, generation: 1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: uid-of-web, controller: true}]}
spec: {replicas: 2}`
	failedPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: default, name: alone}
status: {phase: Failed}`
	settings  = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings}}`
	rootCA    = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: kube-root-ca.crt}}`
	ofSystem  = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: kube-system, name: cm}}`
	party     = `{apiVersion: club.example.com/v1, kind: Event, metadata: {namespace: shop, name: party}, status: {conditions: [{type: Ready, status: "False", reason: NoRoom, message: no room}]}}`
	namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}, status: {phase: Active}}`
	reader    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}`
)

func parseObjects(t *testing.T, texts ...string) (list []unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		list = append(list, parseObject(t, text))
	}
	return list
}

func TestFindUnhealthy(t *testing.T) {
	s := &State{objects: parseObjects(t, stuckDeployment, itsReplicaSet, failedPod, settings, namespace)}
	reasons := s.findUnhealthy(func(u *unstructured.Unstructured) string { return "why of " + u.GetName() })
	if len(reasons) != 3 || reasons["uid-of-web"] != "why of web" {
		t.Errorf("reasons: %v", reasons)
	}
	var got []string
	for _, u := range s.unhealthy {
		got = append(got, fmt.Sprintf("%s %s: %s, %d below", u.Ref, u.Status, u.Reason, len(u.Below)))
	}
	want := []string{"Deployment shop/web InProgress: why of web, 1 below", "Pod default/alone Failed: why of alone, 0 below"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObjectCases(t *testing.T) {
	s := &State{objects: parseObjects(t, namespace, stuckDeployment, itsReplicaSet, failedPod, settings, rootCA, ofSystem, reader)}
	reasons := s.findUnhealthy(func(*unstructured.Unstructured) string { return "why" })
	var applied []manifests.Object
	for _, text := range []string{
		namespace, stuckDeployment, stuckDeployment, "{apiVersion: v1, kind: Pod, metadata: {name: alone}}", "{apiVersion: v1, kind: Pod, metadata: {name: gone}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {namespace: ignored, name: reader}}",
	} {
		u := parseObject(t, text)
		applied = append(applied, manifests.Object{Unstructured: &u})
	}
	want := []testCase{
		{suite: "manifests", name: "Namespace shop"},
		{suite: "manifests", name: "Deployment shop/web", failure: "InProgress: why"},
		{suite: "manifests", name: "Pod default/alone", failure: "Failed: why"},
		{suite: "manifests", name: "Pod gone", failure: "no longer exists" + unknownDeletion, gone: health.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: "gone"}},
		{suite: "manifests", name: "ClusterRole reader"},
		{suite: "namespace shop", name: "ConfigMap shop/settings"},
	}
	got, judged := objectCases(s.objects, applied, (&vanished{}).testCase, reasons, nil, ownDoubt)
	if len(judged) != len(want)-1 || judged["uid-of-web-1"] {
		t.Errorf("judged: %v", judged)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(testCase{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Cluster-scoped objects count, except those of this process, and a Namespace that only waits for an object that counts.
func TestObjectCasesOfTheCluster(t *testing.T) {
	const deleted = `deletionTimestamp: "2026-07-01T12:00:00Z"`
	managed := func(kind, name, metadata string, managers ...string) string {
		var fields []string
		for _, m := range managers {
			manager, subresource, _ := strings.Cut(m, "/")
			fields = append(fields, fmt.Sprintf("{manager: %s, operation: Update, subresource: %q}", manager, subresource))
		}
		return fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {name: %s, managedFields: [%s], %s}, status: {conditions: [{type: Ready, status: "False"}]}}`,
			kind, name, strings.Join(fields, ", "), metadata)
	}
	heldIn := func(namespace, more string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: %s, name: held, uid: uid-in-%s, finalizers: [a.b/c], %s, %s}}`, namespace, namespace, deleted, more)
	}
	const controlled = `ownerReferences: [{apiVersion: v1, kind: Site, name: gone, uid: gone, controller: true}]`
	s := &State{objects: parseObjects(t,
		managed("Namespace", "kube-public", "", "kube-apiserver"),
		managed("Namespace", "full", deleted, "kubectl-create"), heldIn("full", ""),
		managed("Namespace", "full-of-parts", deleted, "kubectl-create"), heldIn("full-of-parts", controlled),
		managed("Namespace", "stuck", deleted+", finalizers: [a.b/c]", "kubectl-create"), heldIn("stuck", ""),
		managed("Node", "node-1", "", "kubelet", "kubectl-label", "kube-controller-manager"),
		managed("PersistentVolume", "bound", "", "kubectl-create", "kube-controller-manager"),
		managed("VolumeAttachment", "a", "", "kube-controller-manager"),
		managed("Site", "broken", "", "kubectl-create", "operator/status"), managed("Site", "fieldless", "", "operator/status"),
		managed("Site", "part", controlled, "operator"),
		reader)}
	reasons := s.findUnhealthy(func(*unstructured.Unstructured) string { return "why" })
	cases, judged := objectCases(s.objects, nil, nil, reasons, nil, ownDoubt)
	var got []string
	for _, c := range cases {
		got = append(got, c.suite+": "+c.name+" "+c.failure)
	}
	want := []string{
		"cluster: Namespace full-of-parts Terminating: why",
		"cluster: Namespace stuck Terminating: why",
		"cluster: PersistentVolume bound InProgress: why",
		"cluster: Site broken InProgress: why",
		"cluster: Site fieldless InProgress: why",
		"cluster: ClusterRole reader ",
		"namespace full: ConfigMap full/held Terminating: why",
		"namespace stuck: ConfigMap stuck/held Terminating: why",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(judged) != len(want) {
		t.Errorf("%d judged (-want +got):\n%s", len(judged), diff)
	}
}

func TestCollectEvents(t *testing.T) {
	s := &State{}
	for i := range maxEvents + 5 {
		s.objects = append(s.objects, parseObject(t, fmt.Sprintf(
			`{apiVersion: v1, kind: Event, metadata: {name: e%d, namespace: shop}, type: Warning, reason: R%d, lastTimestamp: "%s", involvedObject: {kind: Pod, namespace: shop, name: p}, source: {component: kubelet}}`,
			i, i, runStart.Add(time.Duration(-i)*time.Second).Format(time.RFC3339))))
	}
	series := parseObject(t, `{apiVersion: v1, kind: Event, metadata: {name: s}, eventTime: "2026-07-01T12:00:05.000000Z", series: {count: 7, lastObservedTime: "2026-07-01T12:00:09.000000Z"}, involvedObject: {kind: Node, name: node-1}, reportingComponent: scheduler}`)
	odd := parseObject(t, `{apiVersion: v1, kind: Event, metadata: {name: odd}, count: many}`)
	s.objects = append(s.objects, series, odd)
	s.collectEvents()
	if len(s.events) != maxEvents || s.droppedEvents != 7 {
		t.Errorf("%d events, %d dropped", len(s.events), s.droppedEvents)
	}
	want := apiEvent{At: runStart.Add(9 * time.Second), Object: "Node node-1", From: "scheduler", Count: 7}
	got := s.events[len(s.events)-1]
	got.At = got.At.UTC()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the newest (-want +got):\n%s", diff)
	}
	if first := s.events[0]; first.Reason != fmt.Sprint("R", maxEvents-2) || !first.Warning || first.From != "kubelet" || first.Object != "Pod shop/p" {
		t.Errorf("the oldest is %+v", first)
	}
}

// A custom resource whose kind is called Event is not an Event of Kubernetes.
func TestNamesakeOfEvents(t *testing.T) {
	s := &State{objects: parseObjects(t, party)}
	s.collectEvents()
	reasons := s.findUnhealthy(func(*unstructured.Unstructured) string { return "why" })
	if len(s.events) != 0 || len(s.unhealthy) != 1 || reasons["uid-of-party"] != "why" {
		t.Errorf("events %v, unhealthy %v", s.events, s.unhealthy)
	}
}

// Of two groups with the same kind, the story is that of the unhealthy object.
func TestChainOfANamesake(t *testing.T) {
	j := newFakeJournal()
	for _, group := range []string{"serving.example.com", ""} {
		o := observe.Object{Group: group, Resource: "services", Kind: "Service", Namespace: "shop", Name: "web"}
		j.add(0, &observe.Called{Controller: "kubectl of " + map[string]string{"": "core"}[group] + group, Verb: "create", Object: o, Status: 201, ResourceVersion: "7", Client: &observe.Caller{}})
	}
	for group, want := range map[string]string{"serving.example.com": "kubectl of serving.example.com", "": "kubectl of core"} {
		s := &State{unhealthy: []unhealthyObject{{State: health.State{Ref: health.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web"}}}}}
		s.traceUnhealthy(t.Context(), j)
		if got := strings.Join(s.unhealthy[0].Chain, "\n"); !strings.Contains(got, want) {
			t.Errorf("group %q: no %q in:\n%s", group, want, got)
		}
	}
}

// fakeLister returns an objectLister with fake clients.
func fakeLister(t *testing.T, objects ...string) (*objectLister, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	kinds := &fake.FakeDiscovery{Fake: &clienttesting.Fake{}}
	lists := map[schema.GroupVersionResource]string{}
	serve := func(gv schema.GroupVersion, resource, kind string, verbs ...string) {
		kinds.Resources = append(kinds.Resources, &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{
			{Name: resource, Kind: kind, Namespaced: true, Verbs: verbs}, {Name: resource + "/status", Kind: kind, Verbs: []string{"list"}},
		}})
		lists[gv.WithResource(resource)] = kind + "List"
	}
	serve(schema.GroupVersion{Version: "v1"}, "configmaps", "ConfigMap", "get", "list")
	serve(schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets", "Widget", "list")
	serve(schema.GroupVersion{Group: "copy.example.com", Version: "v1"}, "configmaps", "ConfigMap", "list")
	serve(schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}, "events", "Event", "list")
	serve(schema.GroupVersion{Group: "authorization.k8s.io", Version: "v1"}, "subjectaccessreviews", "SubjectAccessReview", "create")
	var there []runtime.Object
	for _, text := range objects {
		u := parseObject(t, text)
		there = append(there, &u)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, there...)
	return &objectLister{kinds: kinds, objects: client}, client
}

func TestListAll(t *testing.T) {
	r, client := fakeLister(t, settings, ofSystem,
		`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: a, name: w}}`,
		`{apiVersion: events.k8s.io/v1, kind: Event, metadata: {namespace: a, name: e}}`,
		`{apiVersion: copy.example.com/v1, kind: ConfigMap, metadata: {namespace: shop, name: settings, uid: uid-of-settings}}`)
	names := func(list []unstructured.Unstructured) (names []string) {
		for _, u := range list {
			names = append(names, u.GetAPIVersion()+" "+health.RefOf(&u).String())
		}
		return names
	}
	list, err := r.listAll(t.Context())
	want := []string{"example.com/v1 Widget a/w", "v1 ConfigMap kube-system/cm", "v1 ConfigMap shop/settings"}
	if diff := cmp.Diff(want, names(list)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	client.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the conversion webhook is not available")
	})
	list, err = r.listAll(t.Context())
	if diff := cmp.Diff(want[1:], names(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "list widgets.example.com: the conversion webhook is not available") {
		t.Errorf("got %v", err)
	}
}

func TestReadStateWithoutServer(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("no response within 100ms"))
	defer cancel()
	if err := ReadState(ctx, &rest.Config{Host: "https://127.0.0.1:1"}, nil, nil).Incomplete(); err == nil || !strings.Contains(err.Error(), "the objects at the end are incomplete") {
		t.Errorf("got %v", err)
	}
}

// That no client has watched the kind of an object without a status may be why it is not healthy, or makes that doubtful.
func TestDoubtsNameObjectsWithoutAStatus(t *testing.T) {
	site, rollout := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Site"}, schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}
	s := &State{
		statuses: map[schema.GroupVersionKind]string{site: "sites.example.com", rollout: "rollouts.argoproj.io"},
		cases: []testCase{
			{name: "Rollout shop/a", statusless: rollout, failure: "InProgress: it has no status.phase yet"}, {name: "Rollout shop/b", statusless: rollout, failure: "InProgress: it has no status.phase yet"},
			{name: "Site shop/a", statusless: site}, {name: "Site shop/b", statusless: site, failure: "InProgress: not observed"}, {name: "Site shop/c", failure: "Failed: no paint"},
			{name: "Site shop/d", statusless: site, doubt: "its condition Synced is Unknown"},
		},
	}
	want := []string{
		"Site shop/d counts as healthy, but its condition Synced is Unknown; no client has written its status, and no client has watched sites.example.com",
		"Rollout shop/a and 1 more have no status yet, and no client has watched rollouts.argoproj.io",
		"Site shop/b has no status yet, and no client has watched sites.example.com",
		"Site shop/a counts as healthy, but it has no status yet, and no client has watched sites.example.com",
	}
	if diff := cmp.Diff(want, s.Doubts(observe.Snapshot{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Doubts(observe.Snapshot{Clients: []observe.Client{{Name: "operator (admin)", Watched: []string{"sites.example.com", "rollouts.argoproj.io"}}}}); !slices.Equal(got, []string{"Site shop/d counts as healthy, but its condition Synced is Unknown"}) {
		t.Errorf("an operator has ended: %q", got)
	}
}

// ownDoubt is the doubt about an object that needs no other one.
func ownDoubt(u *unstructured.Unstructured) string { return health.StateOf(u).Doubt }
