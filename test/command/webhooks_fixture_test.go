package command_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// hangingWebhook accepts requests and never answers them. Its channel receives a
// value when a request arrives, unless one is pending.
type hangingWebhook struct {
	admissionregistrationv1.WebhookClientConfig
	arrived chan struct{}
}

func startHangingWebhook(t *testing.T) hangingWebhook {
	t.Helper()
	h := hangingWebhook{arrived: make(chan struct{}, 1)}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // or the server does not notice that the client leaves
		select {
		case h.arrived <- struct{}{}:
		default:
		}
		<-req.Context().Done()
	}))
	t.Cleanup(srv.Close)
	h.URL = new(srv.URL)
	h.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return h
}

// createWebhook registers a webhook for all operations on a resource of a group.
func createWebhook(t *testing.T, client kubernetes.Interface, name string, policy admissionregistrationv1.FailurePolicyType, how admissionregistrationv1.WebhookClientConfig, timeoutSeconds int32, group, resource string) {
	t.Helper()
	_, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name + ".example.com", ClientConfig: how, TimeoutSeconds: &timeoutSeconds,
			Rules:         webhookRules(group, resource),
			FailurePolicy: &policy, SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// webhookRules selects all operations on a resource of a group.
func webhookRules(group, resource string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
}
