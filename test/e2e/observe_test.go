package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newRemoteClient returns a client that observes the control plane over HTTP.
func newRemoteClient(t *testing.T) *controlrest.Client {
	t.Helper()
	c, err := controlrest.NewClient(controlPlane.config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fetchRecords returns a function that reads the records of one kind of event.
func fetchRecords[E observe.Event](src observe.Source, q observe.Query) func(context.Context) ([]E, error) {
	var zero E
	q.Kinds = []observe.Kind{zero.Kind()}
	return func(ctx context.Context) ([]E, error) {
		page, err := src.Records(ctx, q)
		var events []E
		for _, r := range page.Records {
			events = append(events, r.Event.(E))
		}
		return events, err
	}
}

func deploymentObject(ns, name string) observe.Object {
	return observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: ns, Name: name}
}

// The records show what a Deployment causes: the event, the sync that follows, and
// the calls of that sync.
func TestObserveRollout(t *testing.T) {
	t.Parallel()
	ns, src := createNamespace(t), newRemoteClient(t)
	start, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web := createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitPods(t, ns, "app=web", 3)
	q := observe.Query{After: start.Journal.Last, Controller: "deployment-controller"}

	ofWeb := q
	ofWeb.Object = new(deploymentObject(ns, "web"))
	delivered := await(t, "delivery of the Deployment", fetchRecords[*observe.Delivered](src, ofWeb), func(l []*observe.Delivered) bool { return len(l) > 0 })[0]
	if delivered.Change != observe.Added || delivered.Object.UID != string(web.UID) || delivered.ResourceVersion != web.ResourceVersion ||
		!slices.Equal(delivered.Queues, []string{"deployment"}) {
		t.Errorf("delivered: %+v", delivered)
	}
	isCreate := func(resource string) func(c *observe.Called) bool {
		return func(c *observe.Called) bool {
			return c.Verb == "create" && c.Object.Resource == resource && c.Object.Namespace == ns
		}
	}
	calls := await(t, "creation of the ReplicaSet", fetchRecords[*observe.Called](src, q), func(l []*observe.Called) bool { return slices.ContainsFunc(l, isCreate("replicasets")) })
	call := calls[slices.IndexFunc(calls, isCreate("replicasets"))]
	rs := getObject(t, controlPlane.client.AppsV1().ReplicaSets(ns), call.Object.Name)
	if call.Object.Kind != "ReplicaSet" || call.Object.UID != string(rs.UID) || call.Status != http.StatusCreated || call.Took <= 0 || call.Sync == 0 || call.Controller != "deployment-controller" {
		t.Errorf("called: %+v", call)
	}
	bySync := observe.Query{After: start.Journal.Last, Sync: call.Sync, Reads: true}
	sync := await(t, "end of the sync", fetchRecords[*observe.Synced](src, bySync), func(l []*observe.Synced) bool { return len(l) == 1 })[0]
	if sync.Key != ns+"/web" || sync.KeyBasis != observe.BasisLog || sync.Queue != "deployment" || sync.Writes == 0 || sync.Took <= 0 {
		t.Errorf("synced: %+v", sync)
	}
	q.Controller = "replicaset-controller"
	calls = await(t, "creation of the Pods", fetchRecords[*observe.Called](src, q), func(l []*observe.Called) bool {
		return len(slices.DeleteFunc(slices.Clone(l), func(c *observe.Called) bool { return !isCreate("pods")(c) })) == 3
	})
	for _, c := range slices.DeleteFunc(calls, func(c *observe.Called) bool { return !isCreate("pods")(c) }) {
		pod := getObject(t, controlPlane.client.CoreV1().Pods(ns), c.Object.Name)
		if c.Object.UID != string(pod.UID) || c.Sync == 0 || c.ResourceVersion == "" {
			t.Errorf("creation of Pod %s: %+v", pod.Name, c)
		}
	}
}

// A repeatedly failing sync is shown with its key and error.
func TestObserveFailingSync(t *testing.T) {
	t.Parallel()
	ns, src := createNamespace(t), newRemoteClient(t)
	createObject(t, controlPlane.client.CoreV1().ResourceQuotas(ns), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "limit"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	})
	awaitQuotaUsed(t, ns, map[corev1.ResourceName]string{corev1.ResourcePods: "0"})
	awaitQuotaInForce(t, dryRunCreate(pods(ns), newPod("refused", nil)))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	failing := await(t, "failing key", func(ctx context.Context) ([]observe.FailingKey, error) {
		s, err := src.Snapshot(ctx)
		i := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == "replicaset-controller" })
		if err != nil || i < 0 {
			return nil, err
		}
		return slices.DeleteFunc(s.Controllers[i].Failing, func(f observe.FailingKey) bool { return !strings.HasPrefix(f.Key, ns+"/web-") }), nil
	}, func(l []observe.FailingKey) bool { return len(l) == 1 && l[0].Times > 1 })[0]
	if !strings.Contains(failing.Error, "exceeded quota: limit") || failing.Queue != "replicaset" || failing.KeyBasis != observe.BasisLog {
		t.Errorf("failing: %+v", failing)
	}
}

// queueComparison compares the counters of all queues.
type queueComparison struct {
	Differ []string
	AtRest int // queues that had work, and none meanwhile
}

// The counters of each queue in /metrics are between those of two snapshots, one
// before and one after; for idle queues they are equal.
func TestQueuesAgreeWithMetrics(t *testing.T) {
	t.Parallel()
	sums := func() map[string][3]int64 {
		s, err := controlPlane.server.Observer().Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string][3]int64{}
		for _, q := range s.Queues {
			v := all[q.Name]
			all[q.Name] = [3]int64{v[0] + q.Adds, v[1] + q.Retries, v[2] + q.Done}
		}
		return all
	}
	// A key is counted in one of both first: only a difference that remains is one.
	await(t, "agreement", func(ctx context.Context) (c queueComparison, err error) {
		before := sums()
		text, err := getPath(controlPlane.config, "/metrics")(ctx)
		after := sums()
		metrics := map[string][3]int64{}
		for i, family := range []string{"workqueue_adds_total", "workqueue_retries_total", "workqueue_work_duration_seconds_count"} {
			for line := range strings.Lines(text.Body) {
				label, value, _ := strings.Cut(strings.TrimPrefix(line, family+`{name="`), `"} `)
				n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				if strings.HasPrefix(line, family+"{") && err == nil {
					v := metrics[label]
					v[i] = n
					metrics[label] = v
				}
			}
		}
		for name, a := range before {
			m, b := metrics[name], after[name]
			for i := range m {
				if m[i] < a[i] || m[i] > b[i] {
					c.Differ = append(c.Differ, fmt.Sprintf("queue %s: /metrics says %v between %v and %v", name, m, a, b))
				}
			}
			if a == b && a[0] > 0 {
				c.AtRest++
			}
		}
		return c, err
	}, func(c queueComparison) bool { return len(c.Differ) == 0 && c.AtRest >= 5 })
}

// Every queue has a controller.
func TestQueuesHaveOwners(t *testing.T) {
	t.Parallel()
	s, err := controlPlane.server.Observer().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range s.Queues {
		if q.Controller == "" {
			t.Errorf("queue %s has no controller", q.Name)
		}
		if q.Name == "deployment" && q.Workers != 5 {
			t.Errorf("queue %s has %d workers", q.Name, q.Workers)
		}
	}
	if len(s.Queues) < 70 {
		t.Errorf("%d queues", len(s.Queues))
	}
	i := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == "deployment-controller" })
	if want := []string{"deployments.apps", "pods", "replicasets.apps"}; !slices.Equal(s.Controllers[i].Watches, want) {
		t.Errorf("deployment-controller watches %v, want %v", s.Controllers[i].Watches, want)
	}
	if p := s.Process; p.State != observe.Ready || p.URL != controlPlane.server.URL() || p.EtcdRevision == 0 || p.EtcdBytes == 0 ||
		p.MemoryBytes == 0 || p.Requests < 100 || p.Kubernetes == "" {
		t.Errorf("process: %+v", p)
	}
}

// The queues to which a controller adds a key with each event are still called as the table in package controllers says: of
// noexec_taint_pod, whose syncs pass their keys on, no sync is recorded.
func TestIdleSyncsOfEventQueues(t *testing.T) {
	t.Parallel()
	s, err := controlPlane.server.Observer().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"garbage_collector_graph_changes", "noexec_taint_pod"} {
		if !slices.ContainsFunc(s.Queues, func(q observe.Queue) bool { return q.Name == name }) {
			t.Errorf("no queue is called %s", name)
		}
	}
	page, err := controlPlane.server.Observer().Records(t.Context(), observe.Query{Controller: "taint-eviction-controller", Kinds: []observe.Kind{observe.KindSynced}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		if s := r.Event.(*observe.Synced); s.Queue == "noexec_taint_pod" {
			t.Errorf("recorded: %+v", s)
		}
	}
}

func TestRecordsQueryErrors(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"after=x":      "parameter after: ",
		"kind=boiled":  `parameter kind: \"boiled\" is not one of [bootStep`,
		"limit=1.5":    "parameter limit: ",
		"colour=green": "parameter colour: unknown parameter",
	} {
		if a := httpGet(t, controlPlane.config, controlrest.RecordsPath+"?"+query); a.Code != http.StatusBadRequest || !strings.Contains(a.Body, want) {
			t.Errorf("%s: got %d %s, want 400 %s", query, a.Code, a.Body, want)
		}
	}
}

// Each write is recorded with the call that made it, also if its client has gone before the answer.
func TestObserveWritesOfClientsThatHaveGone(t *testing.T) {
	t.Parallel()
	src := newRemoteClient(t)
	start, err := src.Snapshot(t.Context()) // before the ConfigMap that each namespace has
	if err != nil {
		t.Fatal(err)
	}
	ns := createNamespace(t)
	configMaps := controlPlane.client.CoreV1().ConfigMaps(ns)
	calls := fetchRecords[*observe.Called](src, observe.Query{After: start.Journal.Last, Notable: true})
	wroteIn := func(c *observe.Called) bool {
		return slices.ContainsFunc(c.Wrote, func(w observe.Written) bool { return w.Resource == "configmaps" && w.Namespace == ns })
	}
	await(t, "write of a client that has gone", func(ctx context.Context) ([]*observe.Called, error) {
		began := time.Now()
		if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "whole-"}}, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		took := time.Since(began)
		for i := range 40 { // so that some leave between their write and the answer
			gone, leave := context.WithTimeout(ctx, took*time.Duration(i)/20)
			_, _ = configMaps.Create(gone, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "cut-"}}, metav1.CreateOptions{})
			leave()
		}
		list, err := calls(ctx)
		return slices.DeleteFunc(list, func(c *observe.Called) bool { return !c.Failed() || !wroteIn(c) }), err
	}, func(cut []*observe.Called) bool { return len(cut) > 0 })
	await(t, "record of each write", func(ctx context.Context) (unknown []string, err error) {
		stored, err := configMaps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		list, err := calls(ctx)
		for _, m := range stored.Items {
			if !slices.ContainsFunc(list, func(c *observe.Called) bool {
				return slices.ContainsFunc(c.Wrote, func(w observe.Written) bool { return w.Namespace == ns && w.ResourceVersion == m.ResourceVersion })
			}) {
				unknown = append(unknown, m.Name)
			}
		}
		return unknown, err
	}, func(unknown []string) bool { return len(unknown) == 0 })
}
