package health

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// explainClaims says which PersistentVolumeClaim prevents the scheduling of a Pod.
func (s *reasonSearch) explainClaims(u *unstructured.Unstructured) string {
	var pod corev1.Pod
	if err := convertObject(u, &pod); err != nil {
		return ""
	}
	for _, v := range pod.Spec.Volumes {
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = pod.Name + "-" + v.Name
		default:
			continue
		}
		claim := s.get(coreResource("persistentvolumeclaims"), pod.Namespace, name)
		switch {
		case claim == nil && s.err == nil:
			return fmt.Sprintf("PersistentVolumeClaim %s does not exist", name)
		case claim == nil || StateOf(claim).Status == Current:
			continue
		}
		if reason := s.explainClaim(claim); reason != "" {
			return fmt.Sprintf("PersistentVolumeClaim %s: %s", name, reason)
		}
	}
	return ""
}

// provisioned is the reason of the event that says that a claim has a volume now.
const provisioned = "ProvisioningSucceeded"

// explainClaim says why a PersistentVolumeClaim is not bound. The volume controller
// reports it in events that are not always warnings.
func (s *reasonSearch) explainClaim(u *unstructured.Unstructured) string {
	e := s.latestEvent(u, func(*corev1.Event) bool { return true })
	switch {
	case e == nil:
		return ""
	case e.Reason == provisioned:
		return "not bound yet"
	}
	return joinReason(e.Reason, e.Message)
}
