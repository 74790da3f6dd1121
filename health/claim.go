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
// searches that share a cache.
func (s *reasonSearch) podsOfClaim(u *unstructured.Unstructured) (users []unstructured.Unstructured) {
	namespace := u.GetNamespace()
	if s.cache.podsOfClaims[namespace] == nil {
		s.cache.podsOfClaims[namespace] = indexClaims(s.list(coreResource("pods"), namespace, metav1.ListOptions{}))
	}
	for _, user := range s.cache.podsOfClaims[namespace][u.GetName()] {
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

// explainRequestedVolume says why a claim cannot be bound to the volume that its spec requests; "" if it can, or requests none. The
// events may be about what was before: of a volume that does not exist, its controller writes none.
func (s *reasonSearch) explainRequestedVolume(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "volumeName")
	if name == "" || StateOf(u).Status == Current {
		return ""
	}
	volume := s.get(coreResource("persistentvolumes"), "", name)
	switch {
	case volume == nil && s.err == nil:
		return fmt.Sprintf("its volume %s (spec.volumeName) does not exist", name)
	case volume == nil:
		return ""
	}
	var v corev1.PersistentVolume
	if convertObject(volume, &v) != nil || v.Spec.ClaimRef == nil {
		return ""
	}
	of := v.Spec.ClaimRef
	isNamesake := of.Namespace == u.GetNamespace() && of.Name == u.GetName()
	switch {
	case isNamesake && (of.UID == "" || of.UID == u.GetUID()):
		return ""
	case isNamesake || v.Status.Phase == corev1.VolumeReleased:
		return fmt.Sprintf("its volume %s (spec.volumeName) is Released: %s", name, explainRelease(of))
	}
	return fmt.Sprintf("its volume %s (spec.volumeName) is bound to another claim, PersistentVolumeClaim %s/%s", name, of.Namespace, of.Name)
}

// explainRelease says why no claim can use a volume that is Released.
func explainRelease(of *corev1.ObjectReference) string {
	return fmt.Sprintf("the PersistentVolumeClaim %s/%s that it was bound to was deleted, and no claim can use it until its spec.claimRef is removed", of.Namespace, of.Name)
}

// doubtVolume says that a volume cannot be used or was not deleted; "" if it can.
func (s *reasonSearch) doubtVolume(_ *unstructured.Unstructured, v *corev1.PersistentVolume) string {
	retains := v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain
	switch {
	case v.Status.Phase == corev1.VolumeReleased && v.Spec.ClaimRef != nil && retains:
		return "it is Released: " + explainRelease(v.Spec.ClaimRef)
	case v.Status.Phase == corev1.VolumeFailed:
		return "it has failed: " + joinReason(v.Status.Reason, v.Status.Message)
	}
	return ""
}

// provisioned is the reason of the event that says that a claim has a volume now.
const provisioned = "ProvisioningSucceeded"

// explainClaim says why a PersistentVolumeClaim is not bound. The volume controller
// reports it in events that are not always warnings.
func (s *reasonSearch) explainClaim(u *unstructured.Unstructured) string {
	if reason := s.explainRequestedVolume(u); reason != "" {
		return reason
	}
	e := s.latestEvent(u, func(*corev1.Event) bool { return true })
	switch {
	case e == nil:
		return ""
	case e.Reason == provisioned:
		return "not bound yet"
	}
	return joinReason(e.Reason, e.Message)
}
