package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
)

// deleteCall returns the call of a client that has deleted objects, given as NAMESPACE/NAME.
func deleteCall(resource string, version int, objects ...string) *observe.Called {
	c := &observe.Called{
		Controller: "test (admin)", Client: &observe.Caller{}, Verb: "delete", Status: http.StatusOK, Began: runStart.Add(time.Minute),
		Object: observe.Object{Resource: resource},
	}
	c.Object.Resource, c.Object.Group, _ = strings.Cut(resource, ".")
	for i, o := range objects {
		w := observe.Written{Resource: resource, ResourceVersion: fmt.Sprint(version + i), Deleted: true}
		w.Namespace, w.Name, _ = strings.Cut(o, "/")
		c.Wrote = append(c.Wrote, w)
	}
	return c
}

func TestDeletionOf(t *testing.T) {
	with := func(change func(*observe.Called)) *observe.Called {
		c := deleteCall("pods", 8, "shop/a")
		change(c)
		return c
	}
	const one = "pods in shop: [a] at 7"
	for name, tc := range map[string]struct {
		call *observe.Called
		want string // empty if it does not count
	}{
		"one":          {deleteCall("pods", 8, "shop/a"), one},
		"collection":   {with(func(c *observe.Called) { c.Verb = "deletecollection" }), one},
		"eviction":     {with(func(c *observe.Called) { c.Verb, c.Subresource = "create", "eviction" }), one},
		"several":      {deleteCall("pods", 8, "shop/a", "shop/b"), "pods in shop: [a b] at 7"},
		"also another": {with(func(c *observe.Called) { c.Wrote = append(deleteCall("endpoints", 5, "shop/b").Wrote, c.Wrote...) }), one},
		"namespace":    {deleteCall("namespaces", 8, "/shop"), "namespaces in : [shop] at 7"},

		"by a controller":   {with(func(c *observe.Called) { c.Client = nil }), ""},
		"by an operator":    {with(func(c *observe.Called) { c.Sync = 3 }), ""},
		"refused":           {with(func(c *observe.Called) { c.Status = http.StatusForbidden }), ""},
		"dry run":           {deleteCall("pods", 8), ""},
		"update":            {with(func(c *observe.Called) { c.Verb = "update" }), ""},
		"restore":           {with(func(c *observe.Called) { c.Verb = observe.VerbRestore }), ""},
		"without a state":   {deleteCall("secrets", 8, "shop/a"), ""},
		"unknown version":   {with(func(c *observe.Called) { c.Wrote[0].ResourceVersion = "x" }), ""},
		"the first version": {deleteCall("pods", 1, "shop/a"), ""},
	} {
		d, ok := deletionOf(&observe.Record{Event: tc.call})
		got := ""
		if ok {
			got = fmt.Sprintf("%s in %s: %v at %s", d.resource, d.namespace, d.names, d.version)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// pastAPI answers lists with the objects of a version.
type pastAPI struct {
	t       *testing.T
	objects []unstructured.Unstructured
	hangs   bool // does not answer lists
	foos    bool // serves foos.x.io

	onlyCustom bool // is what is examined

	logs     map[string]string // files of kubelets, by path
	logReads atomic.Int32
}

func (a *pastAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			a.t.Error(err)
		}
	}
	resources := map[string][]metav1.APIResource{
		"/api/v1": {
			{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: []string{"list", "delete"}},
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, Verbs: []string{"list", "delete"}},
			{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, Verbs: []string{"list", "delete"}},
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: []string{"list", "delete"}},
		},
		"/apis/apps/v1": {
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, Verbs: []string{"list", "delete"}},
			{Name: "replicasets", SingularName: "replicaset", Kind: "ReplicaSet", Namespaced: true, Verbs: []string{"list", "delete"}},
		},
		"/apis/batch/v1": {
			{Name: "jobs", SingularName: "job", Kind: "Job", Namespaced: true, Verbs: []string{"list", "delete"}},
		},
		"/apis/apiextensions.k8s.io/v1": {
			{Name: "customresourcedefinitions", SingularName: "customresourcedefinition", Kind: "CustomResourceDefinition", Verbs: []string{"list", "delete"}},
		},
	}
	groups := []string{"apps", "batch", "apiextensions.k8s.io"}
	if a.foos {
		resources["/apis/x.io/v1"] = []metav1.APIResource{{Name: "foos", SingularName: "foo", Kind: "Foo", Namespaced: true, Verbs: []string{"list", "delete"}}}
		groups = append(groups, "x.io")
	}
	path := r.URL.Path
	dir, name := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
	dir, namespace, _ := strings.Cut(dir, "/namespaces/")
	list := resources[dir]
	i := slices.IndexFunc(list, func(r metav1.APIResource) bool { return r.Name == name })
	switch {
	case a.logs[path] != "":
		a.logReads.Add(1)
		fmt.Fprint(w, a.logs[path])
	case path == "/api":
		answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		list := metav1.APIGroupList{}
		for _, g := range groups {
			v1 := metav1.GroupVersionForDiscovery{GroupVersion: g + "/v1", Version: "v1"}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: g, Versions: []metav1.GroupVersionForDiscovery{v1}, PreferredVersion: v1})
		}
		answer(list)
	case resources[path] != nil:
		answer(metav1.APIResourceList{GroupVersion: strings.TrimPrefix(strings.TrimPrefix(path, "/api/"), "/apis/"), APIResources: resources[path]})
	case i < 0 || name == "secrets":
		http.NotFound(w, r)
	case a.hangs:
		<-r.Context().Done()
	default:
		a.answerList(r, list[i].Kind, namespace, answer)
	}
}

func (a *pastAPI) answerList(r *http.Request, kind, namespace string, answer func(any)) {
	if r.URL.Query().Get("resourceVersionMatch") != "Exact" || r.URL.Query().Get("resourceVersion") != "7" {
		a.t.Errorf("reads another version: %s", r.URL)
	}
	items := []any{}
	for _, u := range a.objects {
		name, one := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		if u.GetKind() == kind && (!one || u.GetName() == name) && (namespace == "" || u.GetNamespace() == namespace) {
			items = append(items, u.Object)
		}
	}
	answer(map[string]any{"kind": kind + "List", "apiVersion": "v1", "metadata": map[string]any{}, "items": items})
}

// followCalls returns what was found of the calls of a client.
func followCalls(t *testing.T, api *pastAPI, ctx context.Context, calls ...*observe.Called) Deleted {
	t.Helper()
	j := newFakeJournal()
	j.add(0, deleteCall("pods", 3, "shop/before"))
	return followJournal(t, api, ctx, j, calls...)
}

func followJournal(t *testing.T, api *pastAPI, ctx context.Context, j *fakeJournal, calls ...*observe.Called) Deleted {
	t.Helper()
	api.t = t
	server := httptest.NewServer(api)
	defer server.Close()
	d, err := FollowDeletions(t.Context(), &rest.Config{Host: server.URL}, j, api.onlyCustom)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		j.add(time.Minute, c)
	}
	return d.End(ctx)
}

const pendingPod = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: %s, creationTimestamp: "2026-07-01T12:00:%02dZ"}, status: {phase: Pending}}`

// What was deleted before is found once, and what waits for the garbage collector is not found.
func TestDeletionsOfANamespace(t *testing.T) {
	api := &pastAPI{objects: parseObjects(t, fmt.Sprintf(pendingPod, "young", 50), fmt.Sprintf(pendingPod, "old", 10), namespace, stuckDeployment, itsReplicaSet,
		`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: ends, deletionTimestamp: "2026-07-01T12:00:30Z"}, status: {phase: Pending}}`,
		`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: left, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: gone, controller: true}]}, status: {phase: Pending}}`,
		`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: works}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`)}
	found := followCalls(t, api, t.Context(), deleteCall("pods", 8, "shop/old"), deleteCall("namespaces", 8, "/shop"), deleteCall("pods", 8, "shop/left"), deleteCall("pods", 8, "shop/ends"), deleteCall("pods", 8, "shop/works"))
	var got []string
	for _, o := range found.objects {
		got = append(got, fmt.Sprintf("%s by %s with %q, %d below", o.Ref, o.By, o.With, len(o.Below)))
	}
	slices.Sort(got)
	want := []string{
		`Deployment shop/web by test (admin) with "Namespace shop", 1 below`, `Pod shop/left by test (admin) with "", 0 below`,
		`Pod shop/old by test (admin) with "", 0 below`, `Pod shop/young by test (admin) with "Namespace shop", 0 below`,
	}
	if diff := cmp.Diff(want, got); diff != "" || found.unexamined > 0 {
		t.Errorf("%s (-want +got):\n%s", found.why, diff)
	}
	if last := found.objects[len(found.objects)-1]; last.Ref.Name != "young" || last.Age() != "10s" {
		t.Errorf("the last is %s after %s, not the youngest after 10s", last.Ref, last.Age())
	}
}

// Of a namespace that is being deleted its controllers are deleted last: they were examined before.
func TestDeletionsInATerminatingNamespace(t *testing.T) {
	api := &pastAPI{objects: parseObjects(t, strings.Replace(namespace, "{name: shop", `{deletionTimestamp: "2026-07-01T12:00:30Z", name: shop`, 1), stuckDeployment)}
	found := followCalls(t, api, t.Context(), deleteCall("deployments.apps", 8, "shop/web"))
	if found.Count() != 0 || found.unexamined > 0 {
		t.Errorf("found %v", found.Lines("", ""))
	}
}

const (
	fooDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.x.io}, spec: {group: x.io, scope: Namespaced}, status: {conditions: [{type: Established, status: "True"}]}}`
	barDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: bars.x.io}, spec: {group: x.io, scope: Cluster}, status: {conditions: [{type: Established, status: "True"}]}}`
	brokenFoo     = `{apiVersion: x.io/v1, kind: Foo, metadata: {namespace: shop, name: f1, uid: f1}, status: {conditions: [{type: Ready, status: "False", message: db is down}]}}`
)

func deleteFoo() *observe.Called {
	c := deleteCall("foos.x.io", 8, "shop/f1")
	c.Version, c.Client.Impersonates = "v1", "jane"
	return c
}

// Custom resources are named as long as they are served, and the reason is said if they are not.
func TestDeletionsOfCustomResources(t *testing.T) {
	const down = "deleted while not healthy: Foo shop/f1: InProgress: db is down"
	const missed = "what clients deleted may not have been healthy: 1 deletion not examined, or not completely: "
	const gone = ": its CustomResourceDefinition was deleted before it could be examined"
	namespaceAndDefinition := []*observe.Called{deleteCall("namespaces", 8, "/shop"), deleteCall("customresourcedefinitions.apiextensions.k8s.io", 8, "/foos.x.io")}
	for name, tc := range map[string]struct {
		served bool
		calls  []*observe.Called
		want   string
	}{
		"object":                         {true, []*observe.Called{deleteFoo()}, down},
		"object, then its definition":    {false, []*observe.Called{deleteFoo()}, missed + "foos.x.io f1" + gone},
		"namespace":                      {true, namespaceAndDefinition, down},
		"namespace, then its definition": {false, namespaceAndDefinition, missed + "namespaces shop: foos.x.io" + gone},
		"namespace, another definition":  {false, namespaceAndDefinition[:1], ""},
	} {
		api := &pastAPI{foos: tc.served, objects: parseObjects(t, namespace, fooDefinition, barDefinition, brokenFoo)}
		found := followCalls(t, api, t.Context(), tc.calls...)
		if got := strings.Join(found.Lines("", ""), "; "); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if len(tc.calls) == 1 && tc.calls[0].Client.Impersonates != "" && tc.served && found.objects[0].By != "test (admin) as jane" {
			t.Errorf("deleted by %q", found.objects[0].By)
		}
	}
}

// Without controllers only custom resources can be healthy.
func TestDeletionsOfCustomResourcesOnly(t *testing.T) {
	api := &pastAPI{foos: true, onlyCustom: true, objects: parseObjects(t, namespace, stuckDeployment, itsReplicaSet, brokenFoo, fmt.Sprintf(pendingPod, "a", 10))}
	for _, call := range []*observe.Called{deleteCall("namespaces", 8, "/shop"), deleteFoo(), deleteCall("pods", 8, "shop/a")} {
		found := followCalls(t, api, t.Context(), call)
		want := []string{"deleted while not healthy: Foo shop/f1: InProgress: db is down"}
		if call.Object.Resource == "pods" {
			want = nil
		}
		if diff := cmp.Diff(want, found.Lines("", "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", call.Object.Resource, diff)
		}
	}
}

// What was deleted while it was not healthy has the logs that kubelets keep, also if only what controls the Pod was deleted.
func TestLogsOfWhatWasDeleted(t *testing.T) {
	crashed := crashedPod("web-1-a", secondRun) + "\nspec: {nodeName: node-0}"
	other := strings.ReplaceAll(crashed, "web-1-a", "web-1-b") // without a log
	for resource, name := range map[string]string{"deployments.apps": "shop/web", "namespaces": "/shop", "pods": "shop/web-1-a"} {
		api := &pastAPI{objects: parseObjects(t, namespace, stuckDeployment, itsReplicaSet, crashed, other), logs: map[string]string{
			kubeletLogPath("web-1-a"): "2026-07-01T12:00:00Z stdout F \n2026-07-01T12:00:00Z stderr P FATAL\n2026-07-01T12:00:00Z stderr F  no  db\n",
		}}
		found := followCalls(t, api, t.Context(), deleteCall(resource, 8, name))
		lines := strings.Join(found.Lines("", ""), "\n")
		if want := "\n  log of Pod shop/web-1-a, container c, before its restart\n    | \n    | FATAL no  db"; found.unexamined > 0 || !strings.HasSuffix(lines, want) {
			t.Errorf("%s: %s%s", resource, found.why, lines)
		}
	}
}

// TestLogsOfOthersAreNotRead: as many other Pods as logs are read of crash in the namespace of what was deleted.
func TestLogsOfOthersAreNotRead(t *testing.T) {
	const log = "2026-07-01T12:00:00Z stderr F FATAL\n"
	docs, logs := []string{namespace, stuckDeployment, itsReplicaSet}, map[string]string{}
	add := func(name, owner string) {
		pod := strings.ReplaceAll(crashedPod(name, secondRun)+"\nspec: {nodeName: node-0}", "uid-of-web-1,", owner+",")
		if owner == "" {
			pod = strings.Replace(pod, "controller: true", "controller: false", 1)
		}
		docs, logs[kubeletLogPath(name)] = append(docs, pod), log
	}
	for i := range maxDeletedLogs {
		add(fmt.Sprintf("alone-%02d", i), "")
	}
	add("another", "uid-of-another")
	add("web-1-a", "uid-of-web-1")
	for i := range 2 {
		api := &pastAPI{objects: parseObjects(t, docs...), logs: logs}
		found := followCalls(t, api, t.Context(), slices.Repeat([]*observe.Called{deleteCall("deployments.apps", 8, "shop/web")}, i+1)...)
		lines := strings.Join(found.Lines("", ""), "\n")
		if n := api.logReads.Load(); n != 1 || found.unexamined > 0 || !strings.HasSuffix(lines, "\n    | FATAL") {
			t.Errorf("%d logs read; %s%s", n, found.why, lines)
		}
	}
}

// secondRun is the state of a container whose second run has crashed.
const secondRun = `ready: false, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3, containerID: "sim://x/c/2"}}`

func kubeletLogPath(pod string) string {
	return "/api/v1/nodes/node-0/proxy/logs/pods/shop_" + pod + "_uid-of-" + pod + "/c/2.log"
}

// Deletions that cannot be examined are counted.
func TestDeletionsThatAreNotExamined(t *testing.T) {
	api := &pastAPI{hangs: true}
	ended, end := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the run ended"))
	defer end()
	found := followCalls(t, api, ended, deleteCall("pods", 8, "shop/a"), deleteCall("pods", 9, "shop/b"))
	want := []string{"what clients deleted may not have been healthy: 2 deletions not examined, or not completely: pods a: the run ended"}
	if diff := cmp.Diff(want, found.Lines("", "")); diff != "" || found.Count() != 0 {
		t.Errorf("%d found (-want +got):\n%s", found.Count(), diff)
	}
	j := rolloutJournal(100)
	j.dropOldest(30)
	d := &Deletions{src: j}
	d.examineNew(t.Context(), t.Context())
	if !strings.Contains(d.found.why, "30 records were dropped") {
		t.Errorf("got %q", d.found.why)
	}
}

func TestDeletedIsBounded(t *testing.T) {
	s := State{unhealthy: make([]unhealthyObject, maxDeleted+3)}
	for i := range s.unhealthy {
		s.unhealthy[i].State = health.State{Ref: deploymentRef(hostileTexts[i%len(hostileTexts)]), Status: health.InProgress}
	}
	d := &Deletions{}
	d.found.add(&deletion{}, &s)
	d.examine(t.Context(), &deletion{}) // without a client it would panic
	lines := d.found.Lines("see the report", "")
	if len(d.found.objects) != maxDeleted || d.found.Count() != maxDeleted+3 || len(lines) != maxDeletedNamed+2 || len(d.found.Notes()) != 2 {
		t.Errorf("%d kept, %d found, lines:\n%s", len(d.found.objects), d.found.Count(), strings.Join(lines, "\n"))
	}
	for i, want := range map[int]string{maxDeletedNamed: "and 198 more: see the report", maxDeletedNamed + 1: "1 deletion not examined, or not completely: 203 objects were not healthy before"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if strings.ContainsAny(strings.Join(lines, ""), "\x1b\n\u202e") {
		t.Errorf("not safe for a terminal: %q", lines)
	}
}
