package recording

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/observe"
)

// defaultTolerationSeconds is for how long a Pod tolerates that its node fails, unless it says otherwise.
const defaultTolerationSeconds = 300

// maxNoExecute is the number of taints or tolerations that a record has: a client may write thousands.
const maxNoExecute = 16

// limited returns what is to be recorded of them.
func limited(n observe.NoExecute) *observe.NoExecute {
	if len(n.Taints)+len(n.Tolerations) > maxNoExecute {
		return &observe.NoExecute{TooMany: true}
	}
	return &n
}

// noExecuteOf returns the taints of a new Node or the tolerations of a new Pod that decide about evictions; nil for a
// Node without any, and for a Pod with those that each Pod gets.
func noExecuteOf(obj any) *observe.NoExecute {
	switch o := obj.(type) {
	case *corev1.Node:
		if taints := noExecuteTaints(o); len(taints) > 0 {
			return limited(observe.NoExecute{Taints: taints})
		}
	case *corev1.Pod:
		if !hasDefaultTolerations(o) {
			return limited(observe.NoExecute{Tolerations: noExecuteTolerations(o)})
		}
	}
	return nil
}

// changedNoExecute is noExecuteOf for a new version of an object: nil if it has changed none of them.
func changedNoExecute(before, after any) *observe.NoExecute {
	switch after := after.(type) {
	case *corev1.Node:
		if before, ok := before.(*corev1.Node); ok {
			if taints := noExecuteTaints(after); !slices.Equal(noExecuteTaints(before), taints) {
				return limited(observe.NoExecute{Taints: taints})
			}
		}
	case *corev1.Pod:
		if before, ok := before.(*corev1.Pod); ok && !slices.EqualFunc(before.Spec.Tolerations, after.Spec.Tolerations, sameToleration) {
			return limited(observe.NoExecute{Tolerations: noExecuteTolerations(after)})
		}
	}
	return nil
}

func noExecuteTaints(n *corev1.Node) (taints []string) {
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; t.Effect == corev1.TaintEffectNoExecute {
			taints = append(taints, t.ToString())
		}
	}
	return taints
}

func noExecuteTolerations(p *corev1.Pod) (list []observe.Toleration) {
	for i := range p.Spec.Tolerations {
		if t := &p.Spec.Tolerations[i]; isNoExecute(t) {
			list = append(list, observe.Toleration{Key: t.Key, Operator: string(t.Operator), Value: t.Value, Seconds: t.TolerationSeconds})
		}
	}
	return list
}

// isNoExecute reports whether a toleration is also of taints that evict.
func isNoExecute(t *corev1.Toleration) bool {
	return t.Effect == corev1.TaintEffectNoExecute || t.Effect == ""
}

// hasDefaultTolerations reports whether a Pod has no other tolerations of taints that evict than those which the API
// server adds, as most Pods.
func hasDefaultTolerations(p *corev1.Pod) bool {
	var notReady, unreachable bool
	for i := range p.Spec.Tolerations {
		t := &p.Spec.Tolerations[i]
		isDefault := t.Operator == corev1.TolerationOpExists && t.Effect == corev1.TaintEffectNoExecute && ptr.Deref(t.TolerationSeconds, 0) == defaultTolerationSeconds
		switch {
		case !isNoExecute(t):
		case isDefault && t.Key == corev1.TaintNodeNotReady:
			notReady = true
		case isDefault && t.Key == corev1.TaintNodeUnreachable:
			unreachable = true
		default:
			return false
		}
	}
	return notReady && unreachable
}

func sameToleration(a, b corev1.Toleration) bool {
	return a.MatchToleration(&b) && ptr.Equal(a.TolerationSeconds, b.TolerationSeconds)
}
