package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// doubtRules are the rules for kinds of Kubernetes whose objects are healthy to kstatus, but may have no effect, or another one than
// their users expect. Each says why in a clause about "it" or "its …", "" if nothing is known. The functions of these rules begin
// with "doubt"; those that begin with "explain" say why an object is not healthy.
var doubtRules = map[schema.GroupKind]func(*reasonSearch, *unstructured.Unstructured) string{
	serviceKind:     typed((*reasonSearch).doubtService),
	statefulSetKind: typed((*reasonSearch).doubtStatefulSet),
	daemonSetKind:   typed((*reasonSearch).doubtDaemonSet),
	cronJobKind:     typed((*reasonSearch).doubtCronJob),
	autoscalerKind:  (*reasonSearch).doubtAutoscaler,
	podKind:         (*reasonSearch).doubtPod,
	volumeKind:      typed((*reasonSearch).doubtVolume),
	{Group: "networking.k8s.io", Kind: "Ingress"}:                    typed((*reasonSearch).doubtIngress),
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        typed((*reasonSearch).doubtBinding),
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: typed((*reasonSearch).doubtBinding),
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                typed((*reasonSearch).doubtResourceClaim),
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   typed((*reasonSearch).doubtDisruptionBudget),
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

// findDoubt says what makes it doubtful that an object has the effect that its user expects: what the rule of its kind says,
// that the kind of an owner is not served, and that the operator of a custom resource repeats a warning. It fails if that is not known.
func (s *reasonSearch) findDoubt(u *unstructured.Unstructured) (string, error) {
	text := s.explainUnservedOwner(u)
	if rule := doubtRules[kindOf(u)]; rule != nil {
		text = joinTexts(rule(s, u), text)
	}
	text = joinTexts(s.doubtRepeatedWarning(u), text)
	if text == "" {
		return "", s.err
	}
	return words.OneLine(text) + s.unreadSuffix() + s.errorSuffix(), nil
}
