package e2e_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

func namespaceCondition(ns *corev1.Namespace, kind corev1.NamespaceConditionType) corev1.NamespaceCondition {
	return find(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == kind })
}

func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	maps := controlPlane.client.CoreV1().ConfigMaps(ns)
	const finalizer = "e2e.example/hold"
	createObject(t, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{finalizer}}})
	createObject(t, controlPlane.client.CoreV1().Secrets(ns), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}})
	createObject(t, controlPlane.client.CoreV1().Services(ns), newService("web"))
	markPodsReadyExcept(t, ns, "")
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	awaitRollout(t, ns, 3)

	deleteObject(t, controlPlane.client.CoreV1().Namespaces(), ns)
	stuck := await(t, "namespace that waits for the finalizer alone", getByName(controlPlane.client.CoreV1().Namespaces(), ns), func(n *corev1.Namespace) bool {
		c := namespaceCondition(n, corev1.NamespaceContentRemaining)
		return c.Status == corev1.ConditionTrue && c.Message == "Some resources are remaining: configmaps. has 1 resource instances" &&
			// Discovery fails while the kind of another test ends.
			!slices.ContainsFunc([]corev1.NamespaceConditionType{corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure},
				func(kind corev1.NamespaceConditionType) bool {
					return namespaceCondition(n, kind).Status != corev1.ConditionFalse
				})
	})
	c := namespaceCondition(stuck, corev1.NamespaceFinalizersRemaining)
	if c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, finalizer+" in 1 resource instances") || c.Reason != "SomeFinalizersRemain" {
		t.Errorf("condition of the finalizer: %+v", c)
	}
	if stuck.Status.Phase != corev1.NamespaceTerminating || stuck.DeletionTimestamp == nil {
		t.Errorf("phase %s, deletion timestamp %v", stuck.Status.Phase, stuck.DeletionTimestamp)
	}
	held := getObject(t, maps, "held")
	if held.DeletionTimestamp == nil {
		t.Error("the object with the finalizer is not being deleted")
	}
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("create in the terminating namespace: got %v, want 403 with its cause", err)
	}

	updateObject(t, maps, "held", func(m *corev1.ConfigMap) { m.Finalizers = nil })
	awaitGone(t, "namespace", getByName(controlPlane.client.CoreV1().Namespaces(), ns))
	// The name can be used again, for a new namespace without the old objects.
	again := createObject(t, controlPlane.client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	if again.UID == stuck.UID {
		t.Error("the new namespace has the old one's UID")
	}
	if left := listObjects(t, pods(ns), ""); len(left.Items) != 0 {
		t.Errorf("%d pods are in the new namespace", len(left.Items))
	}
}

// A namespace is not finalized before the creates that are older than its deletion have
// ended: their objects would stay without it, and reappear in a new one of its name.
func TestNamespaceDeletionWaitsForCreatesInFlight(t *testing.T) {
	// Not parallel: other tests would delay the sync below beyond the webhook's time-out, and
	// nothing would be checked.
	ns := createNamespace(t)
	src := newRemoteClient(t)
	namespaces := controlPlane.client.CoreV1().Namespaces()
	hanging, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	h := &fakeWebhook{decide: func(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if *req.DryRun {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "in force"}}
		}
		close(hanging)
		<-released
		return &admissionv1.AdmissionResponse{Allowed: true}
	}}
	_, how := h.startServer(t)
	name := uniqueName("slow")
	createShared(t, controlPlane.client.AdmissionregistrationV1().MutatingWebhookConfigurations(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "slow.e2e.example", ClientConfig: how, NamespaceSelector: selectNamespace(ns), ObjectSelector: labelSelector(map[string]string{"hook": "slow"}),
			Rules:                   []admissionregistrationv1.RuleWithOperations{ruleFor(admissionregistrationv1.Create, "", "v1", "configmaps")},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          new(int32(30)), // the longest: the sync below must happen in it
			FailurePolicy:           new(admissionregistrationv1.Ignore),
		}},
	}, name)
	slow := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "slow", Labels: map[string]string{"hook": "slow"}}}
	_ = awaitRefusal(t, "a dry run", "in force", dryRunCreate(configMaps(ns), slow))
	created := make(chan error, 1)
	go func() {
		_, err := configMaps(ns).Create(t.Context(), slow, metav1.CreateOptions{})
		created <- err
	}()
	select {
	case <-hanging:
	case err := <-created:
		t.Fatalf("the create has not reached the webhook: %v", err)
	}
	before, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deleteObject(t, namespaces, ns)
	syncs := fetchRecords[*observe.Synced](src, observe.Query{After: before.Journal.Last, Controller: "namespace-controller"})
	await(t, "sync of the namespace", syncs, func(l []*observe.Synced) bool {
		return slices.ContainsFunc(l, func(s *observe.Synced) bool { return s.Key == ns })
	})
	n, err := namespaces.Get(t.Context(), ns, metav1.GetOptions{})
	if inFlight := len(created) == 0; inFlight && (err != nil || len(n.Spec.Finalizers) == 0) {
		t.Errorf("the namespace is finalized while a create is in flight: %v", err)
	} else if !inFlight {
		t.Log("the create has ended before it was released: it had waited for the webhook as long as is allowed")
	}
	release()
	if err := <-created; err != nil {
		t.Errorf("the create: %v", err)
	}
	awaitGone(t, "namespace", getByName(namespaces, ns))
	if left := listObjects(t, configMaps(ns), ""); len(left.Items) != 0 {
		t.Errorf("%d objects outlive the namespace", len(left.Items))
	}
}

// The finalizers in a namespace's spec are changed by the finalize subresource.
func TestNamespaceFinalizer(t *testing.T) {
	t.Parallel()
	name := uniqueName("ns")
	namespaces := controlPlane.client.CoreV1().Namespaces()
	ns := createObject(t, namespaces, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"e2e.example/own"}},
	})
	if len(ns.Spec.Finalizers) != 2 || ns.Labels[corev1.LabelMetadataName] != name {
		t.Errorf("finalizers %v, labels %v", ns.Spec.Finalizers, ns.Labels)
	}
	deleteObject(t, namespaces, name)
	await(t, "namespace without content", getByName(namespaces, name), func(n *corev1.Namespace) bool {
		return len(n.Spec.Finalizers) == 1 && n.Spec.Finalizers[0] == "e2e.example/own"
	})
	await(t, "finalized namespace", func(ctx context.Context) (*corev1.Namespace, error) {
		n, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		n.Spec.Finalizers = nil
		return namespaces.Finalize(ctx, n, metav1.UpdateOptions{})
	}, anyState)
	awaitGone(t, "namespace", getByName(namespaces, name))
}

// The system namespaces exist, and those that Kubernetes protects cannot be deleted.
func TestSystemNamespaces(t *testing.T) {
	t.Parallel()
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		await(t, "namespace "+name, getByName(controlPlane.client.CoreV1().Namespaces(), name), func(n *corev1.Namespace) bool {
			return n.Status.Phase == corev1.NamespaceActive
		})
		if name == corev1.NamespaceNodeLease {
			continue // only the other three are protected
		}
		if err := controlPlane.client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("delete %s: got %v, want 403", name, err)
		}
	}
}
