package recording

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What decides about evictions is recorded with the first event of an object, unless it is what most have, and when it changes.
func TestNoExecute(t *testing.T) {
	node := func(taints ...corev1.Taint) *corev1.Node { return &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}} }
	pod := func(list ...corev1.Toleration) *corev1.Pod {
		for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			list = append(list, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))})
		}
		return &corev1.Pod{Spec: corev1.PodSpec{Tolerations: list}}
	}
	maint := corev1.Taint{Key: "maint", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	cordoned := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	all := corev1.Toleration{Operator: corev1.TolerationOpExists}
	scheduling := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	minute := corev1.Toleration{Key: "maint", Value: "yes", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(60))}
	defaults := []observe.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: "Exists", Seconds: new(int64(300))},
		{Key: corev1.TaintNodeUnreachable, Operator: "Exists", Seconds: new(int64(300))},
	}
	with := func(t observe.Toleration) *observe.NoExecute {
		return &observe.NoExecute{Tolerations: append([]observe.Toleration{t}, defaults...)}
	}
	for name, tc := range map[string]struct {
		before, after any // before is nil for the first event
		want          *observe.NoExecute
	}{
		"a node":                       {nil, node(cordoned), nil},
		"a tainted node":               {nil, node(cordoned, maint), &observe.NoExecute{Taints: []string{"maint=yes:NoExecute"}}},
		"too many tolerations":         {nil, pod(slices.Repeat([]corev1.Toleration{all}, maxNoExecute)...), &observe.NoExecute{TooMany: true}},
		"too many taints":              {node(), node(slices.Repeat([]corev1.Taint{maint}, maxNoExecute+1)...), &observe.NoExecute{TooMany: true}},
		"a node that is tainted":       {node(), node(maint), &observe.NoExecute{Taints: []string{"maint=yes:NoExecute"}}},
		"a node that is cordoned":      {node(maint), node(maint, cordoned), nil},
		"a node without its taint":     {node(maint), node(), &observe.NoExecute{}},
		"a Pod as most":                {nil, pod(), nil},
		"a Pod that may be scheduled":  {nil, pod(scheduling), nil},
		"a Pod that tolerates all":     {nil, pod(all), with(observe.Toleration{Operator: "Exists"})},
		"a Pod for a time":             {nil, pod(minute), with(observe.Toleration{Key: "maint", Value: "yes", Seconds: new(int64(60))})},
		"a Pod that tolerates nothing": {nil, &corev1.Pod{}, &observe.NoExecute{}},
		"a Pod whose status changes":   {pod(minute), pod(minute), nil},
		"a Pod that tolerates more":    {pod(), pod(minute), with(observe.Toleration{Key: "maint", Value: "yes", Seconds: new(int64(60))})},
		"something else":               {nil, &corev1.Service{}, nil},
	} {
		got := noExecuteOf(tc.after)
		if tc.before != nil {
			got = changedNoExecute(tc.before, tc.after)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
