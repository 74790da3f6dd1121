package health

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// explainRevision says that a Pod that is not healthy has an earlier template of its StatefulSet, which does not replace it;
// "" if that is not so.
func (s *reasonSearch) explainRevision(u *unstructured.Unstructured) string {
	of, revision := controllerOf(u), u.GetLabels()[appsv1.ControllerRevisionHashLabelKey]
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	if of.GroupKind() != statefulSetKind || revision == "" || phase == string(corev1.PodFailed) { // which it replaces
		return ""
	}
	defer s.ignoreErrors()()
	var set appsv1.StatefulSet
	owner := s.get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), of.Namespace, of.Name)
	if owner == nil || convertObject(owner, &set) != nil || set.Status.UpdateRevision == "" || set.Status.UpdateRevision == revision {
		return ""
	}
	switch strategy := set.Spec.UpdateStrategy.Type; {
	case strategy == appsv1.OnDeleteStatefulSetStrategyType:
		return fmt.Sprintf("the Pod has an earlier revision, which StatefulSet %s does not replace (OnDelete): delete it", set.Name)
	case strategy != "" && strategy != appsv1.RollingUpdateStatefulSetStrategyType,
		set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement, keepsRevision(&set, u):
		return ""
	}
	return fmt.Sprintf("the Pod has an earlier revision, which StatefulSet %s replaces only once the Pod is Ready: delete it", set.Name)
}

// keepsRevision reports whether the partition of a StatefulSet keeps the revision of one of its Pods.
func keepsRevision(set *appsv1.StatefulSet, u *unstructured.Unstructured) bool {
	update, ordinals := set.Spec.UpdateStrategy.RollingUpdate, ptr.Deref(set.Spec.Ordinals, appsv1.StatefulSetOrdinals{})
	if update == nil {
		return false
	}
	ordinal, err := strconv.Atoi(u.GetLabels()[appsv1.PodIndexLabel])
	return err == nil && ordinal < int(ordinals.Start+ptr.Deref(update.Partition, 0))
}
