package apiserver

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// HasWebhook reports whether a configuration has an admission webhook with a name, by the informers that upstream's admission uses.
// It is true if that is not known.
func (s *Server) HasWebhook(name string) bool {
	of := s.informers.Admissionregistration().V1()
	validating, mutating := of.ValidatingWebhookConfigurations(), of.MutatingWebhookConfigurations()
	if s.staticWebhooks || !validating.Informer().HasSynced() || !mutating.Informer().HasSynced() {
		return true
	}
	inValidating, err := validating.Lister().List(labels.Everything())
	inMutating, mutatingErr := mutating.Lister().List(labels.Everything())
	return err != nil || mutatingErr != nil ||
		slices.ContainsFunc(inValidating, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
			return slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == name })
		}) ||
		slices.ContainsFunc(inMutating, func(c *admissionregistrationv1.MutatingWebhookConfiguration) bool {
			return slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return w.Name == name })
		})
}
