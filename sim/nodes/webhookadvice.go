package nodes

import (
	"context"
	"regexp"

	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/internal/webhookconfig"
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
	list, _ := webhookconfig.List(ctx, client) // what could be listed is used: the error is complete without the advice
	for _, c := range webhookconfig.Having(list, match[1]) {
		return "; to remove the webhook: kubectl delete " + c.Resource() + " " + c.Name
	}
	return ""
}
