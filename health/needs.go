package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// needs are the rules for kinds of Kubernetes whose objects are healthy to kstatus without what they need to have an effect:
// each says what an object lacks, "" if nothing is known.
var needs = map[string]func(*reasonSearch, *unstructured.Unstructured) string{
	"Service":                                      (*reasonSearch).explainBackends,
	"Ingress.networking.k8s.io":                    (*reasonSearch).explainIngress,
	"RoleBinding.rbac.authorization.k8s.io":        (*reasonSearch).explainBinding,
	"ClusterRoleBinding.rbac.authorization.k8s.io": (*reasonSearch).explainBinding,
	"ResourceClaim.resource.k8s.io":                (*reasonSearch).explainDeviceClasses,
	"StatefulSet.apps":                             (*reasonSearch).explainStatefulSet,
	"DaemonSet.apps":                               (*reasonSearch).explainNoNode,
	"CronJob.batch":                                (*reasonSearch).explainCronJob,
	"HorizontalPodAutoscaler.autoscaling":          (*reasonSearch).explainAutoscaler,
	"PodDisruptionBudget.policy":                   (*reasonSearch).explainDisruptionBudget,
	"Pod":                                          (*reasonSearch).explainHealthyPod,
	"PersistentVolume":                             (*reasonSearch).explainVolume,
}

// explainNeeds says what an object that is healthy to kstatus needs and does not have, such as an owner whose kind is served. It
// fails if that is not known.
func (s *reasonSearch) explainNeeds(u *unstructured.Unstructured) (string, error) {
	text := s.explainUnservedOwner(u)
	if rule := needs[u.GroupVersionKind().GroupKind().String()]; rule != nil {
		text = joinTexts(rule(s, u), text)
	}
	if text == "" {
		return "", s.err
	}
	return words.OneLine(text) + s.unreadSuffix() + s.errorSuffix(), nil
}

// DoubtOf returns a function that returns [State.Doubt] of an object that is healthy to Wait. It says nothing of a
// Service whose Pods are not healthy, which the caller judges as well, and of what cannot be read. It is not safe for concurrent use.
func (w *Waiter) DoubtOf(ctx context.Context) func(*unstructured.Unstructured) string {
	ctx, lists := requestlog.Discard(ctx), newSharedLists()
	lists.skipPods = true
	return func(u *unstructured.Unstructured) string {
		s := StateOf(u)
		_ = s.addNeeds(w.newSearch(ctx, lists), u) // the object is healthy all the same
		return s.Doubt
	}
}

// reportDoubts passes on the states of those of the objects that Wait waited for which lack what they need. What they need may
// come into being after them, and so it is called at the end of the wait. If some objects are not healthy then, it leaves out
// Services whose Pods are not.
func (w *Waiter) reportDoubts(ctx context.Context, b *tracker) {
	if b.Doubtful == nil || b.Gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTimeout)
	defer cancel()
	lists := newSharedLists()
	lists.skipPods = !b.allSatisfied()
	for i := range b.objects {
		e := &b.objects[i]
		doubtful := e.State
		_ = doubtful.addNeeds(w.newSearch(ctx, lists), e.object) // as DoubtOf
		if doubtful.Doubt != e.Doubt {
			b.Doubtful(doubtful)
		}
	}
}

// addNeeds notes what an object lacks that is healthy to kstatus.
func (s *State) addNeeds(search *reasonSearch, u *unstructured.Unstructured) error {
	if s.Status != Current || s.Doubt != "" {
		return nil
	}
	var err error
	if s.Doubt, err = search.explainNeeds(u); s.Doubt != "" {
		s.Message = strings.TrimSuffix(s.Message, ".") + ", but " + s.Doubt
	}
	return err
}

// explainIngress names the IngressClass, the Services, their ports and the Secrets that an Ingress refers to and that do not
// exist.
func (s *reasonSearch) explainIngress(u *unstructured.Unstructured) string {
	var ingress networkingv1.Ingress
	if err := convertObject(u, &ingress); err != nil {
		s.recordError(err)
		return ""
	}
	var backends []networkingv1.IngressBackend
	if ingress.Spec.DefaultBackend != nil {
		backends = append(backends, *ingress.Spec.DefaultBackend)
	}
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			backends = append(backends, path.Backend)
		}
	}
	var texts []string
	if class := ptr.Deref(ingress.Spec.IngressClassName, ""); class != "" && s.missing(networkingv1.SchemeGroupVersion.WithResource("ingressclasses"), "", class) {
		texts = append(texts, fmt.Sprintf("its IngressClass %s does not exist", class))
	}
	for _, b := range backends {
		if b.Service != nil {
			texts = append(texts, s.explainIngressBackend(u.GetNamespace(), b.Service))
		}
	}
	for _, tls := range ingress.Spec.TLS {
		if tls.SecretName != "" && s.missing(coreResource("secrets"), u.GetNamespace(), tls.SecretName) {
			texts = append(texts, fmt.Sprintf("its TLS Secret %s does not exist", tls.SecretName))
		}
	}
	slices.Sort(texts) // those of several paths may be the same
	return joinFirst(slices.Compact(texts))
}

// explainIngressBackend says that a Service or its port does not exist; "" if it does.
func (s *reasonSearch) explainIngressBackend(namespace string, b *networkingv1.IngressServiceBackend) string {
	u, missing := s.need(coreResource("services"), namespace, b.Name)
	var svc corev1.Service
	switch {
	case missing:
		return fmt.Sprintf("its backend Service %s does not exist", b.Name)
	case u == nil || convertObject(u, &svc) != nil || svc.Spec.Type == corev1.ServiceTypeExternalName:
		return ""
	}
	var has []string
	for _, p := range svc.Spec.Ports {
		if p.Name == b.Port.Name && p.Name != "" || p.Port == b.Port.Number {
			return ""
		}
		has = append(has, strings.TrimPrefix(fmt.Sprintf("%s %d", p.Name, p.Port), " "))
	}
	port := b.Port.Name
	if port == "" {
		port = fmt.Sprint(b.Port.Number)
	}
	return fmt.Sprintf("its backend Service %s has no port %s: it has %s", b.Name, port, cmp.Or(strings.Join(has, ", "), "none"))
}

// explainBinding names the role and the ServiceAccounts of a binding that do not exist.
func (s *reasonSearch) explainBinding(u *unstructured.Unstructured) string {
	var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
	if err := convertObject(u, &binding); err != nil {
		s.recordError(err)
		return ""
	}
	resource, namespace := rbacv1.SchemeGroupVersion.WithResource("roles"), u.GetNamespace()
	if binding.RoleRef.Kind == "ClusterRole" {
		resource, namespace = rbacv1.SchemeGroupVersion.WithResource("clusterroles"), ""
	}
	var texts []string
	if s.missing(resource, namespace, binding.RoleRef.Name) {
		texts = append(texts, fmt.Sprintf("its %s %s does not exist: it grants nothing", binding.RoleRef.Kind, binding.RoleRef.Name))
	}
	for _, to := range binding.Subjects {
		if to.Kind == rbacv1.ServiceAccountKind && s.missing(coreResource("serviceaccounts"), to.Namespace, to.Name) {
			texts = append(texts, fmt.Sprintf("its subject ServiceAccount %s/%s does not exist", to.Namespace, to.Name))
		}
	}
	return joinFirst(texts)
}

// explainDeviceClasses names the DeviceClasses of a ResourceClaim that do not exist, of each request for which none exists.
func (s *reasonSearch) explainDeviceClasses(u *unstructured.Unstructured) string {
	var claim resourcev1.ResourceClaim
	if u.GroupVersionKind().Version != resourcev1.SchemeGroupVersion.Version {
		return ""
	}
	if err := convertObject(u, &claim); err != nil {
		s.recordError(err)
		return ""
	}
	if claim.Status.Allocation != nil { // it needs none any more
		return ""
	}
	var missing []string
	for _, request := range claim.Spec.Devices.Requests {
		var classes []string // one of which is needed
		if request.Exactly != nil {
			classes = append(classes, request.Exactly.DeviceClassName)
		}
		for _, sub := range request.FirstAvailable {
			classes = append(classes, sub.DeviceClassName)
		}
		if !slices.ContainsFunc(classes, func(name string) bool {
			return !s.missing(resourcev1.SchemeGroupVersion.WithResource("deviceclasses"), "", name)
		}) {
			missing = append(missing, classes...)
		}
	}
	slices.Sort(missing)
	switch missing = slices.Compact(missing); len(missing) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("its DeviceClass %s does not exist: no device can be allocated", missing[0])
	}
	return fmt.Sprintf("its DeviceClasses %s do not exist: no device can be allocated", strings.Join(missing, ", "))
}

// explainServiceName says that the Service of a StatefulSet does not exist.
func (s *reasonSearch) explainServiceName(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "serviceName")
	if name == "" || !s.missing(coreResource("services"), u.GetNamespace(), name) {
		return ""
	}
	return fmt.Sprintf("its Service %s (spec.serviceName) does not exist: its Pods have no DNS names", name)
}
