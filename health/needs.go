package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// needs are the rules for kinds of Kubernetes whose objects are healthy to kstatus without what they need to have an effect:
// each says in a clause about "it" or "its …" what an object lacks, "" if nothing is known.
var needs = map[schema.GroupKind]func(*reasonSearch, *unstructured.Unstructured) string{
	serviceKind:     (*reasonSearch).explainBackends,
	statefulSetKind: (*reasonSearch).explainStatefulSet,
	daemonSetKind:   (*reasonSearch).explainNoNode,
	cronJobKind:     (*reasonSearch).explainCronJob,
	autoscalerKind:  (*reasonSearch).explainAutoscaler,
	podKind:         (*reasonSearch).explainHealthyPod,
	volumeKind:      (*reasonSearch).explainVolume,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                    (*reasonSearch).explainIngress,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        (*reasonSearch).explainBinding,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: (*reasonSearch).explainBinding,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                (*reasonSearch).explainDeviceClasses,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   (*reasonSearch).explainDisruptionBudget,
}

// explainNeeds says what an object that is healthy to kstatus needs and does not have, such as an owner whose kind is served. It
// fails if that is not known.
func (s *reasonSearch) explainNeeds(u *unstructured.Unstructured) (string, error) {
	text := s.explainUnservedOwner(u)
	if rule := needs[kindOf(u)]; rule != nil {
		text = joinTexts(rule(s, u), text)
	}
	if text == "" {
		return "", s.err
	}
	return words.OneLine(text) + s.unreadSuffix() + s.errorSuffix(), nil
}
