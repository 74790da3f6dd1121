package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fakeWebhook answers admission reviews and keeps the last request.
type fakeWebhook struct {
	decide func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	last   atomic.Pointer[admissionv1.AdmissionRequest]
}

func (h *fakeWebhook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no admission review", http.StatusBadRequest)
		return
	}
	h.last.Store(review.Request)
	review.Response = h.decide(review.Request)
	review.Response.UID = review.Request.UID
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // fails only if the client has disconnected
}

// startServer returns the server and its configuration for webhooks.
func (h *fakeWebhook) startServer(t *testing.T) (*httptest.Server, admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	srv, ca := serveTLS(t, nil, h)
	return srv, admissionregistrationv1.WebhookClientConfig{URL: new(srv.URL + "/review"), CABundle: ca}
}

func TestValidatingWebhook(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	h := &fakeWebhook{decide: func(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		var m corev1.ConfigMap
		if err := json.Unmarshal(req.Object.Raw, &m); err != nil {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: err.Error()}}
		}
		if m.Data["colour"] == "green" {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusTeapot, Message: "no green"}}
		}
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"checked " + m.Name}}
	}}
	srv, how := h.startServer(t)
	name := uniqueName("webhook")
	rules := []admissionregistrationv1.RuleWithOperations{
		ruleFor(admissionregistrationv1.Create, "", "v1", "configmaps"), ruleFor(admissionregistrationv1.Update, "", "v1", "configmaps"),
	}
	hook := func(path string, policy admissionregistrationv1.FailurePolicyType, selector *metav1.LabelSelector) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: path + ".e2e.example", ClientConfig: how, Rules: rules, FailurePolicy: &policy, NamespaceSelector: selectNamespace(ns), ObjectSelector: selector,
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}
	}
	createShared(t, controlPlane.client.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			hook("strict", admissionregistrationv1.Fail, labelSelector(map[string]string{"hook": "strict"})),
			hook("lax", admissionregistrationv1.Ignore, labelSelector(map[string]string{"hook": "lax"})),
		},
	}, name)

	m := func(hook, colour string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: hook, Labels: map[string]string{"hook": hook}}, Data: map[string]string{"colour": colour}}
	}
	err := awaitRefusal(t, "green", "no green", dryRunCreate(configMaps(ns), m("strict", "green")))
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != http.StatusTeapot || status.Status().Message != `admission webhook "strict.e2e.example" denied the request: no green` {
		t.Errorf("got %v, want the webhook's own answer", err)
	}
	req := h.last.Load()
	if req.Operation != admissionv1.Create || req.Namespace != ns || req.Resource.Resource != "configmaps" || req.UserInfo.Username != "kubernetes-admin" || !*req.DryRun {
		t.Errorf("the webhook received %s", toYAML(req))
	}
	warnings := &warningRecorder{}
	cfg := anonymousConfig()
	cfg.TLSClientConfig, cfg.WarningHandler = controlPlane.config.TLSClientConfig, warnings
	warned := clientFor(t, cfg).CoreV1().ConfigMaps(ns)
	await(t, "create that the webhook allows", func(ctx context.Context) (*corev1.ConfigMap, error) { // it may not answer in time
		return warned.Create(ctx, m("strict", "blue"), metav1.CreateOptions{})
	}, anyState)
	if got := warnings.last.Load(); got == nil || *got != "checked strict" {
		t.Errorf("the client received the warning %s", toYAML(got))
	}

	// While the webhook is down, its failure policy decides.
	srv.Close()
	err = dryRunCreate(configMaps(ns), m("strict", "red"))(t.Context())
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "strict.e2e.example"`) {
		t.Errorf("with the webhook down: got %v, want 500", err)
	}
	createObject(t, configMaps(ns), m("lax", "green"))
}

// warningRecorder keeps the last warning that a client received.
type warningRecorder struct{ last atomic.Pointer[string] }

func (w *warningRecorder) HandleWarningHeader(_ int, _, text string) { w.last.Store(&text) }

func TestMutatingWebhook(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	h := &fakeWebhook{decide: func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{
			Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch),
			Patch: []byte(`[{"op":"add","path":"/spec/containers/-","value":{"name":"sidecar","image":"registry.invalid/sidecar:1"}}]`),
		}
	}}
	_, how := h.startServer(t)
	name := uniqueName("webhook")
	createShared(t, controlPlane.client.AdmissionregistrationV1().MutatingWebhookConfigurations(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "sidecar.e2e.example", ClientConfig: how, NamespaceSelector: selectNamespace(ns),
			Rules:                   []admissionregistrationv1.RuleWithOperations{ruleFor(admissionregistrationv1.Create, "", "v1", "pods")},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "none-that-is-plain", Expression: "!('plain' in object.metadata.?labels.orValue({}))"}},
		}},
	}, name)
	withSidecar := func(p *corev1.Pod) bool {
		return len(p.Spec.Containers) == 2 && p.Spec.Containers[1].Name == "sidecar" && p.Spec.Containers[1].TerminationMessagePath != ""
	}
	await(t, "pod with a defaulted sidecar", func(ctx context.Context) (*corev1.Pod, error) {
		return pods(ns).Create(ctx, newPod("web", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}, withSidecar)
	if p := createObject(t, pods(ns), newPod("plain", map[string]string{"plain": "yes"})); len(p.Spec.Containers) != 1 {
		t.Errorf("a pod that the condition leaves out has containers %s", toYAML(p.Spec.Containers))
	}

	// Controllers' requests pass through the webhook, too.
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	for _, p := range awaitPods(t, ns, "app=web", 3) {
		if !withSidecar(&p) {
			t.Errorf("pod %s has containers %s", p.Name, toYAML(p.Spec.Containers))
		}
	}
	if who := h.last.Load().UserInfo.Username; who != "system:serviceaccount:kube-system:replicaset-controller" {
		t.Errorf("the pod was created by %s", who)
	}
}
