// Package webhookconfig finds the configurations that have an admission webhook: errors name the webhook only.
package webhookconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Configuration is a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
type Configuration struct {
	Kind, Name string
	Webhooks   []string // their names
}

func (c Configuration) String() string { return c.Kind + " " + c.Name }

// Resource returns what kubectl calls the kind.
func (c Configuration) Resource() string { return strings.ToLower(c.Kind) }

// List returns all configurations: the validating ones first.
func List(ctx context.Context, client kubernetes.Interface) (found []Configuration, err error) {
	api := client.AdmissionregistrationV1()
	validating, err := api.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list validating webhooks: %w", err)
	}
	for _, c := range validating.Items {
		found = append(found, Configuration{"ValidatingWebhookConfiguration", c.Name, names(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) string { return w.Name })})
	}
	mutating, err := api.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return found, fmt.Errorf("list mutating webhooks: %w", err)
	}
	for _, c := range mutating.Items {
		found = append(found, Configuration{"MutatingWebhookConfiguration", c.Name, names(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) string { return w.Name })})
	}
	return found, nil
}

func names[T any](webhooks []T, name func(T) string) (list []string) {
	for _, w := range webhooks {
		list = append(list, name(w))
	}
	return list
}

// Having returns those of the configurations that have a webhook with a name: it need not be unique.
func Having(list []Configuration, webhook string) []Configuration {
	return slices.DeleteFunc(slices.Clone(list), func(c Configuration) bool { return !slices.Contains(c.Webhooks, webhook) })
}
