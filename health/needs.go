package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// needs are the rules for kinds of Kubernetes whose objects are healthy to kstatus without what they need to have an effect:
// each says in a clause about "it" or "its …" what an object lacks, "" if nothing is known.
var needs = map[schema.GroupKind]func(*reasonSearch, *unstructured.Unstructured) string{
	serviceKind:     typed((*reasonSearch).explainBackends),
	statefulSetKind: typed((*reasonSearch).explainStatefulSet),
	daemonSetKind:   typed((*reasonSearch).explainNoNode),
	cronJobKind:     typed((*reasonSearch).explainCronJob),
	autoscalerKind:  (*reasonSearch).explainAutoscaler,
	podKind:         (*reasonSearch).explainHealthyPod,
	volumeKind:      typed((*reasonSearch).explainVolume),
	{Group: "networking.k8s.io", Kind: "Ingress"}:                    typed((*reasonSearch).explainIngress),
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        typed((*reasonSearch).explainBinding),
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: typed((*reasonSearch).explainBinding),
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                typed((*reasonSearch).explainDeviceClasses),
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   typed((*reasonSearch).explainDisruptionBudget),
}

// typed returns a rule for an object that needs the Go type of its kind, too.
func typed[T any](rule func(*reasonSearch, *unstructured.Unstructured, *T) string) func(*reasonSearch, *unstructured.Unstructured) string {
	return func(s *reasonSearch, u *unstructured.Unstructured) string {
		o := new(T)
		if err := convertObject(u, o); err != nil {
			s.recordError(err)
			return ""
		}
		return rule(s, u, o)
	}
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
