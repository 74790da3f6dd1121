package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

func TestSimulatedLine(t *testing.T) {
	several := func(n int, programs ...string) (list []ctrlplane.NotRunPrograms) {
		for i := range n {
			list = append(list, ctrlplane.NotRunPrograms{
				NotRunObject: nodes.NotRunObject{Kind: "Job", Namespace: "a", Name: fmt.Sprint(i)}, Programs: programs,
			})
		}
		return list
	}
	for _, test := range []struct {
		list []ctrlplane.NotRunPrograms
		more bool
		want string
	}{
		{nil, false, ""},
		{several(2, "rake db:migrate"), false, "simulated, not run: Job a/0 (rake db:migrate), Job a/1 (rake db:migrate)"},
		{several(1, "x", "y", "z"), false, "simulated, not run: Job a/0 (x, y and 1 more)"},
		{several(5, "x"), false, "simulated, not run: Job a/0 (x), Job a/1 (x), Job a/2 (x) and 2 more"},
		{several(1, "x\n::error::x\n##[error]\x1b[31m\u202e"), false, "simulated, not run: Job a/0 (x : :error::x # #[error][31m)"},
		{several(5, "x"), true, "simulated, not run: Job a/0 (x), Job a/1 (x), Job a/2 (x) and 2 more, at least"},
	} {
		if got := simulatedLine(test.list, test.more); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

// TestSimulatedObjects: the report has what the line leaves out.
func TestSimulatedObjects(t *testing.T) {
	object := func(name string, programs ...string) ctrlplane.NotRunPrograms {
		return ctrlplane.NotRunPrograms{NotRunObject: nodes.NotRunObject{Kind: "Job", Namespace: "a", Name: name}, Programs: programs}
	}
	few := []ctrlplane.NotRunPrograms{object("1", "x", "y"), object("2", "x"), object("3", "x")}
	for name, test := range map[string]struct {
		list []ctrlplane.NotRunPrograms
		want []string
	}{
		"all are in the line": {few, nil},
		"many programs":       {[]ctrlplane.NotRunPrograms{object("1", "x", "y", "z\n::error::z")}, []string{"Job a/1 (x, y, z : :error::z)"}},
		"many objects":        {append(few, object("4", "x")), []string{"Job a/1 (x, y)", "Job a/2 (x)", "Job a/3 (x)", "Job a/4 (x)"}},
	} {
		if diff := cmp.Diff(test.want, simulatedObjects(test.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPodOf: of a workload without Pods nothing is said to run.
func TestPodOf(t *testing.T) {
	template := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}}
	for name, test := range map[string]struct {
		kind         string
		spec, status map[string]any
		want         bool
	}{
		"replicas by default":         {"Deployment", map[string]any{}, nil, true},
		"no replicas":                 {"Deployment", map[string]any{"replicas": int64(0)}, nil, false},
		"DaemonSet on nodes":          {"DaemonSet", map[string]any{}, map[string]any{"desiredNumberScheduled": int64(2)}, true},
		"DaemonSet that matches none": {"DaemonSet", map[string]any{}, map[string]any{"desiredNumberScheduled": int64(0)}, false},
	} {
		test.spec["template"] = template
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": test.kind, "metadata": map[string]any{"name": "a"}, "spec": test.spec, "status": test.status,
		}}
		pod := podOf(u)
		if got := pod != nil && len(pod.Spec.Containers) == 1; got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRunsSimulated: a Pod without a node may get one that has its own kubelet.
func TestRunsSimulated(t *testing.T) {
	node := func(name string, annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		}
	}
	simulated := node("b", map[string]string{annotations.KwokNode: annotations.KwokFake})
	before, after := node("a", nil), node("c", nil)
	for name, test := range map[string]struct {
		nodes []runtime.Object
		on    string
		want  bool
	}{
		"all":                    {[]runtime.Object{simulated}, "", true},
		"none":                   {nil, "", false},
		"the first is not":       {[]runtime.Object{before, simulated}, "", false},
		"the last is not":        {[]runtime.Object{simulated, after}, "", false},
		"its own is":             {[]runtime.Object{before, simulated}, "b", true},
		"its own is not":         {[]runtime.Object{simulated, after}, "c", false},
		"its own does not exist": {[]runtime.Object{simulated}, "c", false},
	} {
		scheme := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: test.on}}
		if got := runsSimulated(t.Context(), metadatafake.NewSimpleMetadataClient(scheme, test.nodes...), pod); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
