package nodes

import (
	"context"
	"regexp"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// webhookInError matches the name of a webhook in the errors of upstream's admission.
var webhookInError = regexp.MustCompile(`webhook "([^"]+)"`)

// webhookAdvice returns how to remove the webhook that has caused an error; empty if
// none has, or if it is not registered.
func webhookAdvice(ctx context.Context, client kubernetes.Interface, err error) string {
	match := webhookInError.FindStringSubmatch(err.Error())
	if match == nil {
		return ""
	}
	const advice = "; to remove the webhook: kubectl delete "
	api := client.AdmissionregistrationV1()
	if list, err := api.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{}); err == nil {
		for _, c := range list.Items {
			if slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == match[1] }) {
				return advice + "validatingwebhookconfiguration " + c.Name
			}
		}
	}
	if list, err := api.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{}); err == nil {
		for _, c := range list.Items {
			if slices.ContainsFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return w.Name == match[1] }) {
				return advice + "mutatingwebhookconfiguration " + c.Name
			}
		}
	}
	return ""
}
