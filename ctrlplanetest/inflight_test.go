package ctrlplanetest_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// TestNamespaceWaitsForCreateInFlight ends a test while a webhook delays a create that was admitted to its
// namespace: the object must not outlive the namespace.
func TestNamespaceWaitsForCreateInFlight(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	hook := &slowWebhook{reached: make(chan struct{}), released: make(chan struct{})}
	hook.install(t, cp)
	created := make(chan error, 1)
	var namespace string
	r := newRecorder(t.Name())
	r.runTest(func(tb testing.TB) {
		namespace = cp.Namespace(tb)
		maps := cp.Client().CoreV1().ConfigMaps(namespace)
		slow := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "slow", Labels: map[string]string{"hook": "slow"}}}
		testutil.Await(t, "webhook in force", func() bool {
			_, err := maps.Create(t.Context(), slow, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil
		})
		go func() {
			_, err := maps.Create(t.Context(), slow, metav1.CreateOptions{})
			created <- err
		}()
		select {
		case <-hook.reached:
		case err := <-created:
			t.Errorf("the create has not reached the webhook: %v", err)
		}
		go func() {
			defer close(hook.released)
			awaitNamespaceSyncs(t, cp, namespace)
		}()
	})
	if r.failed {
		t.Error(r.logged())
	}
	if err := <-created; err != nil {
		t.Errorf("the create: %v", err)
	}
	requireNamespaceGone(t, cp, namespace)
	left, err := cp.Client().CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("%v: %d objects outlive the namespace", err, len(left.Items))
	}
}

// awaitNamespaceSyncs returns when a namespace is gone, or the namespace controller has synced it twice since
// its deletion: then that is not finalized while a write is in flight.
func awaitNamespaceSyncs(t *testing.T, cp *ctrlplanetest.ControlPlane, namespace string) {
	testutil.Await(t, "syncs of the namespace", func() bool {
		ns, err := cp.Client().CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			return apierrors.IsNotFound(err)
		}
		page, err := cp.Source().Records(t.Context(), observe.Query{Controller: "namespace-controller"})
		if err != nil {
			return false
		}
		syncs := 0
		for _, rec := range page.Records {
			if s, ok := rec.Event.(*observe.Synced); ok && s.Key == namespace {
				syncs++
			}
		}
		return ns.DeletionTimestamp != nil && syncs >= 2
	})
}

// slowWebhook refuses dry runs, and allows others once it is released.
type slowWebhook struct {
	reached, released chan struct{}
	once              sync.Once
}

func (h *slowWebhook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an admission review", http.StatusBadRequest)
		return
	}
	if !*review.Request.DryRun {
		h.once.Do(func() { close(h.reached) })
		<-h.released
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: !*review.Request.DryRun}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // fails only if the client has disconnected
}

// install makes the API server call the webhook until the test ends.
func (h *slowWebhook) install(t *testing.T, cp *ctrlplanetest.ControlPlane) {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	configurations := cp.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "slow"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:           "slow.example.com",
			ClientConfig:   admissionregistrationv1.WebhookClientConfig{URL: &srv.URL, CABundle: ca},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"hook": "slow"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          new(int32(30)), // the longest
			FailurePolicy:           new(admissionregistrationv1.Ignore),
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := configurations.Delete(context.Background(), "slow", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
