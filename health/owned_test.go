package health

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Why a custom resource is not ready may be in an object that it owns.
func TestWhyNamesOwnedObjects(t *testing.T) {
	const certificate = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: late}, ` +
		`status: {conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: no Secret, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	owned := func(kind, name, by, created, status string) string {
		return strings.Replace(`{`+kind+`, metadata: {namespace: shop, name: `+name+`, creationTimestamp: "`+created+`", `+
			`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: x, uid: uid-of-OWNER, controller: true}]}, status: {`+status+`}}`, "OWNER", by, 1)
	}
	const request, deployment = `apiVersion: example.com/v1, kind: Widget`, `apiVersion: apps/v1, kind: Deployment`
	const job, pod = `apiVersion: batch/v1, kind: Job`, `apiVersion: v1, kind: Pod`
	const pending = `conditions: [{type: Ready, status: "False", reason: Pending, message: no issuer}]`
	const ready = `conditions: [{type: Ready, status: "True"}]`
	const early, late = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
	over := warning("late", "RequestFailed", "already exists", "2026-01-01T00:00:03Z")
	for name, test := range map[string]struct{ objects, want string }{
		"none":             {over, "DoesNotExist: no Secret; last warning: RequestFailed: already exists"},
		"ready":            {owned(request, "late-1", "late", early, ready), "DoesNotExist: no Secret"},
		"not ready":        {owned(request, "late-1", "late", early, pending) + "\n---\n" + over, "DoesNotExist: no Secret; last warning: RequestFailed: already exists; Widget late-1: Pending: no issuer"},
		"an older warning": {owned(request, "late-1", "late", early, pending) + "\n---\n" + warning("late", "RequestFailed", "already exists", "2025-12-31T23:00:00Z"), "DoesNotExist: no Secret; Widget late-1: Pending: no issuer"},
		"no text":          {owned(request, "late-1", "late", early, `conditions: [{type: Ready, status: "False"}]`), "DoesNotExist: no Secret; Widget late-1 is not ready"},
		"a failed Job": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(job, "late-job", "late", late, `conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]`),
			"DoesNotExist: no Secret; Widget late-1: Pending: no issuer (and 1 more that late owns)"},
		"a suspended Job": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(job, "late-job", "late", late, `conditions: [{type: Suspended, status: "True"}]`),
			"DoesNotExist: no Secret; Widget late-1: Pending: no issuer (and 1 more that late owns)"},
		"a failed Pod": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(pod, "late-pod", "late", late, "phase: Failed"),
			"DoesNotExist: no Secret; Widget late-1: Pending: no issuer (and 1 more that late owns)"},
		"a Pod that restarts": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(pod, "late-pod", "late", late, `phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}}]`),
			"DoesNotExist: no Secret; Pod late-pod: container app is waiting: CrashLoopBackOff (and 1 more that late owns)"},
		"only a failed Job": {owned(job, "late-job", "late", late, `conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]`),
			"DoesNotExist: no Secret; Job late-job: BackoffLimitExceeded"},
		"of another owner": {owned(request, "late-1", "other", early, pending), "DoesNotExist: no Secret"},
		"the newest": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(deployment, "late-web", "late", late, ""),
			"DoesNotExist: no Secret; Deployment late-web has no ReplicaSet: its controller has not created one (and 1 more that late owns)"},
		"of an owned one": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(request, "order", "late-1", late, `conditions: [{type: Stalled, status: "True", message: no DNS}]`),
			"DoesNotExist: no Secret; Widget late-1: Pending: no issuer; Widget order: no DNS"},
		"what the owner says, too": {owned(request, "late-1", "late", early, `conditions: [{type: Ready, status: "False", message: no Secret}]`), "DoesNotExist: no Secret"},
		"itself":                   {owned(request, "late-1", "late-1", early, pending) + "\n---\n" + owned(request, "late-2", "late", early, ready), "DoesNotExist: no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(documents(test.objects), certificate)...)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if got := c.Why(t.Context(), parseObject(t, certificate)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Objects that claim to own themselves or each other are named once.
func TestWhyOfACycleOfOwners(t *testing.T) {
	widget := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, ` +
		`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: uid-of-w, controller: true}]}, status: {conditions: [{type: Ready, status: "False", message: no paint}]}}`
	c := newCluster(t, widget)
	c.serve("example.com/v1", "widgets", "Widget", true)
	if got := c.Why(t.Context(), parseObject(t, widget)); got != "no paint" {
		t.Errorf("got %s", got)
	}
}

// A warning from before the state that an object reports is over.
func TestWarningBeforeTheState(t *testing.T) {
	widget := func(since string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, ` +
			`status: {conditions: [{type: Ready, status: "False", message: no paint` + since + `}]}}`
	}
	failed := warning("w", "Failed", "no brush", "2026-01-01T00:00:01Z")
	const both = "no paint; last warning: Failed: no brush"
	for since, want := range map[string]string{
		"": both,
		`, lastTransitionTime: "2026-01-01T00:00:00Z"`: both,
		`, lastTransitionTime: "2026-01-01T00:00:01Z"`: both,
		`, lastTransitionTime: "2026-01-01T00:00:03Z"`: both, // of the same reconciliation
		`, lastTransitionTime: "2026-01-01T00:00:04Z"`: "no paint",
		`, lastTransitionTime: never`:                  both,
	} {
		c := newCluster(t, widget(since), failed)
		c.serve("example.com/v1", "widgets", "Widget", true)
		if got := c.Why(t.Context(), parseObject(t, widget(since))); got != want {
			t.Errorf("%s: got %s, want %s", since, got, want)
		}
	}
}

// A condition of which another one's message is a part says nothing about when that began.
func TestWarningOfAnotherCondition(t *testing.T) {
	widget := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, status: {conditions: [` +
		`{type: Ready, status: "False", reason: NoPaint, message: the paint is out, lastTransitionTime: "2026-01-01T00:00:00Z"}, ` +
		`{type: Synced, status: "True", message: paint, lastTransitionTime: "2026-01-01T01:00:00Z"}]}}`
	c := newCluster(t, widget, warning("w", "Failed", "no brush", "2026-01-01T00:00:01Z"))
	c.serve("example.com/v1", "widgets", "Widget", true)
	const want = "NoPaint: the paint is out; last warning: Failed: no brush"
	if got := c.Why(t.Context(), parseObject(t, widget)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An owner that says nothing itself is explained by what it owns, and by its warnings.
func TestWhyOfAnOwnerWithoutAText(t *testing.T) {
	const widget = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, status: {conditions: [{type: Ready, status: "False"}]}}`
	const owned = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: part, ` +
		`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: uid-of-w, controller: true}]}, status: {conditions: [{type: Ready, status: "False", message: no paint}]}}`
	for want, objects := range map[string][]string{
		"Widget part: no paint":          {widget, owned},
		"last warning: Failed: no brush": {widget, warning("w", "Failed", "no brush", "2026-01-01T00:00:00Z")},
	} {
		c := newCluster(t, objects...)
		c.serve("example.com/v1", "widgets", "Widget", true)
		if got := c.Why(t.Context(), parseObject(t, widget)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// chain is three Widgets, each of which controls the next one.
var chain = []string{
	`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: a}, status: {conditions: [{type: Ready, status: "False", message: A}]}}`,
	`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: b, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: a, uid: uid-of-a, controller: true}]}, status: {conditions: [{type: Ready, status: "False", message: B}]}}`,
	`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: c, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: b, uid: uid-of-b, controller: true}]}, status: {conditions: [{type: Ready, status: "False", message: C}]}}`,
}

// countLists returns how often a cluster was asked for the objects of a resource.
func (c *cluster) countLists(r schema.GroupVersionResource) (n int) {
	return c.count("list", r.Resource)
}

// count returns how often a cluster was asked for something about a resource.
func (c *cluster) count(verb, resource string) (n int) {
	for _, a := range c.objects.Actions() {
		if a.Matches(verb, resource) {
			n++
		}
	}
	return n
}

// The levels of what an object owns share lists; only events are listed for each of them, as there may be many.
func TestLevelsOfOwnedObjectsShareLists(t *testing.T) {
	c := newCluster(t, chain...)
	c.serve("example.com/v1", "widgets", "Widget", true)
	if got := c.Why(t.Context(), parseObject(t, chain[0])); got != "A; Widget b: B; Widget c: C" {
		t.Errorf("got %s", got)
	}
	for r, want := range map[schema.GroupVersionResource]int{widgets: 1, pods: 1, deployments: 1, coreResource("events"): 3} {
		if got := c.countLists(r); got != want {
			t.Errorf("%s: listed %d times, want %d", r.Resource, got, want)
		}
	}
}

// One list of a resource has all of its objects and those that one controls, whatever is asked for first.
func TestListOfAllAndOfOwned(t *testing.T) {
	c := newCluster(t, justMade, newSet)
	s, sets := c.newSearch(t.Context(), searchOptions{}, nil), appsv1.SchemeGroupVersion.WithResource("replicasets")
	for range 2 {
		if owned, all := s.listOwned(sets, parseObject(t, justMade)), s.listAll(sets, "shop"); len(owned) != 1 || len(all) != 1 || c.countLists(sets) != 1 {
			t.Errorf("%d ReplicaSets of the Deployment, %d of all, after %d lists, want one of each", len(owned), len(all), c.countLists(sets))
		}
	}
}

// Browsing repeats itself: what objects own is not looked at.
func TestListDoesNotExplainOwnedObjects(t *testing.T) {
	c := newCluster(t, chain...)
	c.serve("example.com/v1", "widgets", "Widget", true)
	l, err := c.List(t.Context(), "widgets.example.com")
	if err != nil || len(l.Items) != 3 || l.Items[0].Reason != "A" {
		t.Errorf("got %+v, %v", l, err)
	}
	if n := c.countLists(pods); n > 0 {
		t.Errorf("listed Pods %d times", n)
	}
}

// An attempt that has failed is over if its phase says so: what is in progress is named, though it is older.
func TestWhyNamesNoAttemptThatIsOver(t *testing.T) {
	const rollout = `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {namespace: shop, name: web, generation: 2}, status: {observedGeneration: "2", phase: Progressing}}`
	const metadata = `namespace: shop, generation: 1, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: uid-of-web, controller: true}]`
	const failed = `{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: web-1, creationTimestamp: "2026-01-01T00:00:02Z", ` + metadata + `}, status: {phase: Failed, message: no metric}}`
	const set = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-x, creationTimestamp: "2026-01-01T00:00:01Z", ` + metadata + `}, spec: {replicas: 2}, ` +
		`status: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: exceeded quota}]}}`
	for want, objects := range map[string][]string{
		"Progressing; ReplicaSet web-x: FailedCreate: exceeded quota (and 1 more that web owns)": {rollout, failed, set},
		"Progressing; AnalysisRun web-1: Failed: no metric":                                      {rollout, failed},
	} {
		c := newCluster(t, objects...)
		c.serve("argoproj.io/v1alpha1", "rollouts", "Rollout", true)
		c.serve("argoproj.io/v1alpha1", "analysisruns", "AnalysisRun", true)
		if got := c.Why(t.Context(), parseObject(t, rollout)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// What the objects of Flux apply has no owner references, and may be in another namespace: they list it.
func TestWhyNamesAppliedObjects(t *testing.T) {
	kustomization := func(entries string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: flux-system, name: apps}, status: {inventory: {entries: [` + entries + `]}, ` +
			`conditions: [{type: Ready, status: Unknown, reason: Progressing, message: Running health checks}]}}`
	}
	const self, web, job = `{id: flux-system_apps_example.com_Widget, v: v1}`, `{id: shop_web_apps_Deployment, v: v1}`, `{id: flux-system_job_batch_Job, v: v1}`
	const settings, role, old, unserved = `{id: shop_cm__ConfigMap, v: v1}`, `{id: _system__node_rbac.authorization.k8s.io_ClusterRole, v: v1}`, `{id: shop_old_apps_Deployment, v: v1}`, `{id: shop_x_other.example.com_Thing, v: v1}`
	const failedJob = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: flux-system, name: job, creationTimestamp: "2026-01-01T00:00:02Z"}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`
	const ownedByApps = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: flux-system, name: own, generation: 1, creationTimestamp: "2026-01-01T00:00:03Z", ` +
		`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: apps, uid: uid-of-apps, controller: true}]}, spec: {replicas: 2}}`
	const degraded = `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {namespace: flux-system, name: web, generation: 1, creationTimestamp: "2026-01-01T00:00:02Z"}, status: {observedGeneration: "1", phase: Degraded, message: no image}}`
	const balancer = `{apiVersion: v1, kind: Service, metadata: {namespace: flux-system, name: lb, creationTimestamp: "2026-01-01T00:00:01Z"}, spec: {type: LoadBalancer}}`
	const others = settings + ", " + role + ", " + old + ", " + unserved + ", 1, {id: x}, " + self
	for name, test := range map[string]struct {
		entries string
		objects []string
		want    string
	}{
		"not ready":         {others + ", " + web, []string{justMade}, "Progressing: Running health checks; Deployment shop/web has no ReplicaSet: its controller has not created one"},
		"ready":             {others + ", " + web, []string{rolledOut}, "Progressing: Running health checks"},
		"one that is over":  {job + ", " + web, []string{justMade, failedJob}, "Progressing: Running health checks; Deployment shop/web has no ReplicaSet: its controller has not created one (and 1 more that apps manages)"},
		"only one that is":  {job, []string{failedJob}, "Progressing: Running health checks; Job job: BackoffLimitExceeded"},
		"one that is owned": {web, []string{strings.Replace(justMade, "namespace: shop", "namespace: flux-system", 1), justMade, ownedByApps}, "Progressing: Running health checks; Deployment own has no ReplicaSet: its controller has not created one (and 1 more that apps manages)"},
		"owned and listed":  {`{id: flux-system_own_apps_Deployment, v: v1}`, []string{ownedByApps}, "Progressing: Running health checks; Deployment own has no ReplicaSet: its controller has not created one"},
		"a failed Rollout":  {`{id: flux-system_web_argoproj.io_Rollout, v: v1alpha1}, {id: flux-system_lb__Service, v: v1}`, []string{degraded, balancer}, "Progressing: Running health checks; Rollout web: Degraded: no image (and 1 more that apps manages)"},
		"no inventory":      {"", []string{justMade}, "Progressing: Running health checks"},
		"not in it":         {settings, []string{justMade}, "Progressing: Running health checks"},
		"of another object": {self, []string{justMade}, "Progressing: Running health checks"},
	} {
		t.Run(name, func(t *testing.T) {
			explained := kustomization(test.entries)
			c := newCluster(t, append(test.objects, explained)...)
			c.serve("example.com/v1", "widgets", "Widget", true)
			c.serve("argoproj.io/v1alpha1", "rollouts", "Rollout", true)
			if got := c.Why(t.Context(), parseObject(t, explained)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// An inventory may be long: not all of it is read.
func TestWhyOfALongInventory(t *testing.T) {
	var entries []string
	for i := range 2 * maxApplied {
		entries = append(entries, fmt.Sprintf(`{id: shop_cm%d__ConfigMap, v: v1}, {id: shop_d%d_apps_Deployment, v: v1}`, i, i))
	}
	explained := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: apps}, status: {inventory: {entries: [` + strings.Join(entries, ", ") + `]}, ` +
		`conditions: [{type: Ready, status: "False", message: late}]}}`
	c := newCluster(t, explained)
	c.serve("example.com/v1", "widgets", "Widget", true)
	if got := c.Why(t.Context(), parseObject(t, explained)); got != "late" {
		t.Errorf("got %s", got)
	}
	if reads := c.count("get", "deployments"); reads != maxApplied {
		t.Errorf("%d objects were read", reads)
	}
}

// The reasons of several objects have a common time limit: what is in more than one inventory is read once, and not all of it.
func TestInventoriesShareReads(t *testing.T) {
	kustomization := func(name, entries string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: ` + name + `}, status: {inventory: {entries: [` + entries + `]}, conditions: [{type: Ready, status: "False", message: late}]}}`
	}
	var names, all, objects []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("{id: shop_k%d_example.com_Widget, v: v1}", i))
		entries := []string{"{id: shop_web_apps_Deployment, v: v1}"}
		for j := range maxApplied - 1 {
			entries = append(entries, fmt.Sprintf("{id: shop_d%d-%d_apps_Deployment, v: v1}", i, j))
		}
		all = append(all, strings.Join(entries, ", "))
		objects = append(objects, kustomization(fmt.Sprintf("k%d", i), all[i]))
	}
	objects = append(objects, kustomization("all", strings.Join(names, ", ")))
	c := newCluster(t, append(objects, justMade)...)
	c.serve("example.com/v1", "widgets", "Widget", true)
	why := c.WhyOf(t.Context())
	const web = "late; Deployment web has no ReplicaSet: its controller has not created one"
	for _, o := range objects[:5] {
		if got := why(parseObject(t, o)); got != web {
			t.Errorf("got %s", got)
		}
	}
	why(parseObject(t, objects[5]))
	if reads := c.count("get", "deployments") + c.count("get", "widgets"); reads != maxApplied {
		t.Errorf("%d objects were read", reads)
	}
}
