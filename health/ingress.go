package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// doubtIngress names the IngressClass, the Services, their ports and the Secrets that an Ingress refers to and that do not
// exist.
func (s *reasonSearch) doubtIngress(u *unstructured.Unstructured, ingress *networkingv1.Ingress) string {
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
			texts = append(texts, s.doubtIngressBackend(u.GetNamespace(), b.Service))
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

// doubtIngressBackend says that a Service or its port does not exist; "" if it does.
func (s *reasonSearch) doubtIngressBackend(namespace string, b *networkingv1.IngressServiceBackend) string {
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
