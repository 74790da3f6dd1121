package metricsapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/metrics"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// newMixedPods has one Pod for each reason to be omitted.
func newMixedPods(t *testing.T) podStorage {
	return podStorage{newSource(t,
		newNode("fake"),
		newNode("real", func(n *corev1.Node) { n.Annotations = nil }),
		newNode("down", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }),
		newPod("b", "two", "fake"),
		newPod("a", "two", "fake"),
		newPod("a", "one", "fake"),
		newPod("a", "wrong", "fake", withAnnotation(annotations.UsageCPU, "x")),
		newPod("a", "pending", "", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		newPod("a", "done", "fake", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		newPod("a", "real", "real"),
		newPod("a", "down", "down"),
		newPod("a", "lost", "gone"),
	)}
}

func TestListPods(t *testing.T) {
	storage := newMixedPods(t)
	name := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	for _, tc := range []struct {
		namespace string
		options   *metainternalversion.ListOptions
		want      string
		warnings  int
	}{
		{"", nil, "a/one a/two b/two", 1},
		{"a", &metainternalversion.ListOptions{}, "a/one a/two", 1},
		{"c", nil, "", 0},
		{"", &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"name": "two"})}, "a/two b/two", 0},
		{"", &metainternalversion.ListOptions{FieldSelector: name("one")}, "a/one", 0},
		{"", &metainternalversion.ListOptions{FieldSelector: name("wrong")}, "", 1},
		{"", &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie("metadata.namespace!=a")}, "b/two", 0},
	} {
		ctx, warned := newRequestContext(t, tc.namespace)
		list, err := storage.List(ctx, tc.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list.(*metrics.PodMetricsList).Items {
			got = append(got, m.Namespace+"/"+m.Name)
		}
		if got := strings.Join(got, " "); got != tc.want || len(*warned) != tc.warnings {
			t.Errorf("%q %+v: got %q and %d warnings, want %q and %d", tc.namespace, tc.options, got, len(*warned), tc.want, tc.warnings)
		}
	}
}

func TestListPodsWarnsAboutOmittedPods(t *testing.T) {
	ctx, got := newRequestContext(t, "a")
	if _, err := newMixedPods(t).List(ctx, nil); err != nil {
		t.Fatal(err)
	}
	want := warnings{`pod a/wrong has no metrics: annotation kwok.x-k8s.io/usage-cpu: "x" is not a quantity: write it like 250m, or CONTAINER=250m,…`}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGetPod(t *testing.T) {
	storage := newMixedPods(t)
	ctx, _ := newRequestContext(t, "a")
	got, err := storage.Get(ctx, "one", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := got.(*metrics.PodMetrics)
	if !m.Timestamp.Time.Equal(testTime) || m.Window.Duration != window || m.Labels["name"] != "one" || len(m.Containers) != 2 {
		t.Errorf("got %+v", m)
	}
	for name, want := range map[string]string{
		"none":    `pod "none" not found`,
		"wrong":   `podmetrics.metrics.k8s.io "a/wrong" not found: annotation kwok.x-k8s.io/usage-cpu: "x" is not a quantity: write it like 250m, or CONTAINER=250m,…`,
		"pending": `podmetrics.metrics.k8s.io "a/pending" not found: the pod is Pending, not Running`,
		"real":    `podmetrics.metrics.k8s.io "a/real" not found: node real is not simulated`,
		"down":    `podmetrics.metrics.k8s.io "a/down" not found: node down is not Ready`,
		"lost":    `podmetrics.metrics.k8s.io "a/lost" not found: node "gone" not found`,
	} {
		_, err := storage.Get(ctx, name, nil)
		if !apierrors.IsNotFound(err) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// Until the informers have synced, an empty list would be wrong.
func TestUnavailableUntilSynced(t *testing.T) {
	s := newSource(t)
	s.synced = func() bool { return false }
	ctx, _ := newRequestContext(t, "a")
	for what, ask := range map[string]func() error{
		"get pod":    func() error { _, err := podStorage{s}.Get(ctx, "p", nil); return err },
		"list pods":  func() error { _, err := podStorage{s}.List(ctx, nil); return err },
		"get node":   func() error { _, err := nodeStorage{s}.Get(ctx, "n", nil); return err },
		"list nodes": func() error { _, err := nodeStorage{s}.List(ctx, nil); return err },
	} {
		if err := ask(); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestPodTable(t *testing.T) {
	storage := newMixedPods(t)
	ctx, _ := newRequestContext(t, "a")
	list, err := storage.List(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := storage.ConvertToTable(ctx, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]any
	for _, r := range table.Rows {
		got = append(got, r.Cells)
	}
	want := [][]any{{"one", "25m", "45875Ki", "1s"}, {"two", "25m", "45875Ki", "1s"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := storage.ConvertToTable(ctx, &corev1.Pod{}, nil); err == nil {
		t.Error("a Pod made a table of metrics")
	}
}
