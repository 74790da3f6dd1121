package metricsapi

import (
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

func newMixedNodes(t *testing.T) nodeStorage {
	return nodeStorage{newSource(t,
		newNode("two"), newNode("one"),
		newNode("real", func(n *corev1.Node) { n.Annotations = nil }),
		newNode("down", func(n *corev1.Node) { n.Status.Conditions = nil }),
		newPod("a", "p", "two", withAnnotation(annotations.UsageCPU, "1"), withAnnotation(annotations.UsageMemory, "1Gi")),
		newPod("b", "p", "two"),
		newPod("b", "wrong", "two", withAnnotation(annotations.UsageCPU, "x")),
		newPod("b", "done", "two", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
	)}
}

func TestListNodes(t *testing.T) {
	storage := newMixedNodes(t)
	one, two := []any{"one", "50m", "256Mi", "1s"}, []any{"two", "2075m", "2405171Ki", "1s"}
	for name, tc := range map[string]struct {
		options  *metainternalversion.ListOptions
		want     [][]any
		warnings int
	}{
		"all":      {nil, [][]any{one, two}, 1},
		"by label": {&metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"name": "one"})}, [][]any{one}, 0},
		"by field": {&metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "two")}, [][]any{two}, 1},
		"none":     {&metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "real")}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, warned := newRequestContext(t, "")
			list, err := storage.List(ctx, tc.options)
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
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(*warned) != tc.warnings {
				t.Errorf("got warnings %q, want %d", *warned, tc.warnings)
			}
		})
	}
}

func TestGetNode(t *testing.T) {
	storage := newMixedNodes(t)
	ctx, _ := newRequestContext(t, "")
	got, err := storage.Get(ctx, "two", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := got.(*metrics.NodeMetrics)
	if formatUsage(m.Usage) != "2075m 2405171Ki" || !m.Timestamp.Time.Equal(testTime) || m.Window.Duration != window || m.Labels["name"] != "two" {
		t.Errorf("got %+v", m)
	}
	for name, want := range map[string]string{
		"none": `node "none" not found`,
		"real": `nodemetrics.metrics.k8s.io "real" not found: node real is not simulated`,
		"down": `nodemetrics.metrics.k8s.io "down" not found: node down is not Ready`,
	} {
		_, err := storage.Get(ctx, name, nil)
		if !apierrors.IsNotFound(err) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
