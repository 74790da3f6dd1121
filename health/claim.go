package health

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// claims says which PersistentVolumeClaim keeps a Pod from being scheduled.
func (s *search) claims(u *unstructured.Unstructured) string {
	var pod corev1.Pod
	if err := convert(u, &pod); err != nil {
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
		claim := s.get(core("persistentvolumeclaims"), pod.Namespace, name)
		switch {
		case claim == nil && s.err == nil:
			return fmt.Sprintf("PersistentVolumeClaim %s: there is no such object", name)
		case claim == nil || Of(claim).Status == Current:
			continue
		}
		if reason := s.claim(claim); reason != "" {
			return fmt.Sprintf("PersistentVolumeClaim %s: %s", name, reason)
		}
	}
	return ""
}

// claim says why a PersistentVolumeClaim is not bound: the volume controller
// tells it in events that are not always warnings.
func (s *search) claim(u *unstructured.Unstructured) string {
	e := s.latest(u, func(*corev1.Event) bool { return true })
	if e == nil {
		return ""
	}
	return because(e.Reason, e.Message)
}
