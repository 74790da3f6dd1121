package health

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainClaims says which PersistentVolumeClaim prevents the scheduling of a Pod.
func (s *reasonSearch) explainClaims(u *unstructured.Unstructured) string {
	var pod corev1.Pod
	if err := convertObject(u, &pod); err != nil {
		return ""
	}
	for _, v := range pod.Spec.Volumes {
		name := claimName(&pod, &v)
		if name == "" {
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

// claimName returns the PersistentVolumeClaim of a volume; "" if it has none.
func claimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// The finalizers of claims that Pods use, and of volumes that are bound.
const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// explainClaimUse names one of the Pods that keep a PersistentVolumeClaim that is being deleted; "" if none is known.
func (s *reasonSearch) explainClaimUse(u *unstructured.Unstructured) string {
	if !slices.Contains(u.GetFinalizers(), claimProtection) {
		return ""
	}
	users := s.podsOfClaim(u)
	if len(users) == 0 {
		return ""
	}
	text := fmt.Sprintf(": %s uses it", RefOf(&users[0]))
	if users[0].GetDeletionTimestamp() != nil {
		text = fmt.Sprintf(": %s is %s", RefOf(&users[0]), s.explainDeletion(&users[0]))
	}
	if others := len(users) - 1; others > 0 {
		text += fmt.Sprintf(" (and %s)", words.Count(others, "other Pod"))
	}
	return text
}

// podOfClaim is a Pod that uses a claim.
type podOfClaim struct {
	pod       unstructured.Unstructured
	ephemeral bool // the volume is an ephemeral one, whose claim the Pod controls
}

// podsOfClaim returns the Pods that keep a claim, as upstream's controller counts them. It lists the Pods of a namespace once for
// searches that share lists.
func (s *reasonSearch) podsOfClaim(u *unstructured.Unstructured) (users []unstructured.Unstructured) {
	namespace := u.GetNamespace()
	if s.lists.podsOfClaims[namespace] == nil {
		s.lists.podsOfClaims[namespace] = indexClaims(s.list(coreResource("pods"), namespace, metav1.ListOptions{}))
	}
	for _, user := range s.lists.podsOfClaims[namespace][u.GetName()] {
		if !user.ephemeral || metav1.IsControlledBy(u, &user.pod) {
			users = append(users, user.pod)
		}
	}
	return users
}

// indexClaims returns which Pods use a claim, by its name.
func indexClaims(pods []unstructured.Unstructured) map[string][]podOfClaim {
	index := map[string][]podOfClaim{}
	for _, p := range pods {
		var pod corev1.Pod
		if convertObject(&p, &pod) != nil || pod.Spec.NodeName == "" { // a kubelet does not start it after that
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if name := claimName(&pod, &v); name != "" {
				index[name] = append(index[name], podOfClaim{p, v.Ephemeral != nil})
			}
		}
	}
	return index
}

// explainVolumeUse names the claim that keeps a PersistentVolume that is being deleted; "" if none does.
func explainVolumeUse(u *unstructured.Unstructured) string {
	var v corev1.PersistentVolume
	if !slices.Contains(u.GetFinalizers(), volumeProtection) || convertObject(u, &v) != nil || v.Status.Phase != corev1.VolumeBound || v.Spec.ClaimRef == nil {
		return ""
	}
	return fmt.Sprintf(": PersistentVolumeClaim %s/%s is bound to it", v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
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
