package nodes

import (
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

// rejection is why a kubelet does not do what it should, in upstream's words.
type rejection struct{ reason, message string }

// checkAdmission returns why a kubelet rejects a Pod that was bound to its node,
// which has that load; nil if the kubelet accepts it. It makes the checks that
// upstream's kubelet shares with the scheduler. It does not use the handler of
// package lifecycle, which checks the Pod against the operating system of this
// process and copies every Pod of the node each time.
func checkAdmission(pod *corev1.Pod, node *corev1.Node, l *nodeLoad) *rejection {
	if pod.Spec.OS != nil && string(pod.Spec.OS.Name) != nodeOS(node) {
		return &rejection{lifecycle.PodOSNotSupported, "Failed to admit pod as the OS field doesn't match node OS"}
	}
	if why := checkSysctls(pod); why != nil {
		return why
	}
	for _, failed := range scheduler.AdmissionCheck(pod, l.nodeInfo(node), true) {
		lacks := failed.InsufficientResource
		if lacks == nil {
			why := &lifecycle.PredicateFailureError{PredicateName: failed.Name, PredicateDesc: failed.Reason}
			return &rejection{why.PredicateName, why.Error()}
		}
		if _, known := node.Status.Allocatable[lacks.ResourceName]; !known && v1helper.IsExtendedResourceName(lacks.ResourceName) {
			continue // a resource of the cluster, not of the node
		}
		why := &lifecycle.InsufficientResourceError{
			ResourceName: lacks.ResourceName, Requested: lacks.Requested, Used: lacks.Used, Capacity: lacks.Capacity,
		}
		return &rejection{lifecycle.InsufficientResourcePrefix + string(lacks.ResourceName), why.Error()}
	}
	_, evicted := corev1scheduling.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute },
		utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators))
	if evicted {
		why := &lifecycle.PredicateFailureError{PredicateName: tainttoleration.Name, PredicateDesc: tainttoleration.ErrReasonNotMatch}
		return &rejection{why.PredicateName, why.Error()}
	}
	return nil
}

func nodeOS(node *corev1.Node) string {
	if system, ok := node.Labels[corev1.LabelOSStable]; ok {
		return system
	}
	return string(corev1.Linux)
}

// nodeInfo returns the node with that load as the scheduler's checks need it.
func (l *nodeLoad) nodeInfo(node *corev1.Node) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	info.Requested, info.UsedPorts = &l.requested, l.ports
	info.Pods = make([]fwk.PodInfo, l.pods) // the checks use only their number
	return info
}
