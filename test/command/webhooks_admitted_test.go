package command_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// startLabeler starts a webhook that adds a label with a value.
func startLabeler(t *testing.T, value string) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels/injected","value":"` + value + `"}]`))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"` + string(review.Request.UID) + `","allowed":true,"patchType":"JSONPatch","patch":"` + patch + `"}}`))
	}))
	t.Cleanup(srv.Close)
	return admissionregistrationv1.WebhookClientConfig{URL: new(srv.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})}
}

// createLabeler registers a webhook that adds a label to Pods.
func createLabeler(t *testing.T, client kubernetes.Interface, value string) {
	t.Helper()
	rules := webhookRules("", "pods")
	rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "labeler"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "labeler.example.com", ClientConfig: startLabeler(t, value), Rules: rules,
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createSizePolicy creates a MutatingAdmissionPolicy that annotates Pods, and its binding.
func createSizePolicy(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	policies := client.AdmissionregistrationV1()
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	if _, err := policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "size"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints:   &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{annotations: {"example.com/size": "small"}}}`},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "size"}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "size"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Which webhooks have changed an object, and which could not be called, is said where the object is explained. Those that
// refuse what the kubelet writes are named by the status.
func TestWebhooksOfAdmittedWrites(t *testing.T) {
	t.Parallel()
	p := program.Up(t, t.TempDir(), "--nodes", "1")
	client := p.Client(t)
	down := admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/review")}
	createWebhook(t, client, "absent", admissionregistrationv1.Ignore, down, 2, "", "pods")
	createLabeler(t, client, "yes")
	createSizePolicy(t, client)

	var pod string
	p.Await(t, "a Pod that the webhooks have seen", func() bool { // they are effective a moment after they are created
		program.MustRun(t, p.Dir, "kubectl", "delete", "deployment", "web", "--ignore-not-found", "--cascade=foreground")
		program.MustRun(t, p.Dir, "kubectl", "create", "deployment", "web", "--image", "nginx")
		p.Await(t, "a Pod", func() bool {
			list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) == 0 {
				return false
			}
			pod = list.Items[0].Name
			return true
		})
		why := strings.Join(strings.Fields(program.MustRun(t, p.Dir, "why", "pod/"+pod)), " ") // one of them may be effective before the other
		return strings.Contains(why, "webhook labeler.example.com has changed the object: metadata.labels.injected ") &&
			strings.Contains(why, "MutatingAdmissionPolicies have changed the object: metadata.annotations[example.com/size]") &&
			strings.Contains(why, "webhook absent.example.com could not be called and was ignored")
	})
	if got, err := client.CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{}); err != nil || got.Labels["injected"] != "yes" {
		t.Errorf("got the labels %v, %v", got.Labels, err)
	}
	if status := program.MustRun(t, p.Dir, "status"); !strings.Contains(status, "webhook absent.example.com could not be called and was ignored for ") {
		t.Errorf("the status does not name the webhook:\n%s", status)
	}
	program.MustRun(t, p.Dir, "kubectl", "delete", "validatingwebhookconfiguration", "absent")
	p.Await(t, "a status without the webhook that was deleted", func() bool {
		return !strings.Contains(program.MustRun(t, p.Dir, "status"), "webhook absent.example.com")
	})

	createWebhook(t, client, "refuse", admissionregistrationv1.Fail, down, 2, "", "pods/status")
	program.MustRun(t, p.Dir, "kubectl", "delete", "pod", pod, "--wait=false")
	p.Await(t, "the name of the webhook that refuses statuses", func() bool {
		flat := strings.Join(strings.Fields(program.MustRun(t, p.Dir, "status")), " ")
		_, kubelet, found := strings.Cut(flat, "kubelet ")
		return found && strings.Contains(kubelet, `failed calling webhook "refuse.example.com"`)
	})
}
