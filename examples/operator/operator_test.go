package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	scheme, err := newScheme()
	if err != nil {
		panic(err)
	}
	ctrlplanetest.Main(m, ctrlplanetest.Options{
		Manifests: []string{"config/crd.yaml", "config/registry.yaml"},
		Scheme:    scheme,
		Timeout:   2 * time.Minute, // the garbage collector needs time to learn of a new kind
	})
}

// startOperator runs the operator until the Cleanups of later calls have ended: they
// delete namespaces, which needs it. It returns a client without a cache.
func startOperator(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	ofOperator := rest.CopyConfig(cfg)
	ofOperator.UserAgent = "operator" // else it would be one client with the clients of the tests
	// Allows several operators in one process.
	mgr, err := newManager(ofOperator, ctrl.Options{
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		Metrics:    server.Options{BindAddress: "0"}, // none: the port may be in use
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // t.Context() ends before the Cleanups
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// siteTest is what each test uses.
type siteTest struct {
	*testing.T
	cp        *ctrlplanetest.ControlPlane
	client    client.Client
	namespace string
}

func TestOperator(t *testing.T) {
	cp := ctrlplanetest.Shared(t)
	c := startOperator(t, cp.RESTConfig())
	// On its own: the Sites below register their hosts in one ConfigMap, and retry after a conflict.
	t.Run("causes", func(t *testing.T) { testCauses(&siteTest{t, cp, c, cp.Namespace(t)}) })
	for name, test := range map[string]func(*siteTest){
		"rollout":            testRollout,
		"deletion":           testDeletion,
		"namespace deletion": testNamespaceDeletion,
		"host is taken":      testHostIsTaken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&siteTest{t, cp, c, cp.Namespace(t)})
		})
	}
}

func (t *siteTest) createSite(name, host string) *Site {
	t.Helper()
	s := &Site{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name},
		Spec:       SiteSpec{Host: host, Image: "registry.example/shop:1", Replicas: 2},
	}
	if err := t.client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (t *siteTest) getObject(name string, into client.Object) {
	t.Helper()
	if err := t.client.Get(t.Context(), client.ObjectKey{Namespace: t.namespace, Name: name}, into); err != nil {
		t.Fatal(err)
	}
}

// hostOwner returns the Site that a host is registered for.
func (t *siteTest) hostOwner(host string) string {
	t.Helper()
	var registry corev1.ConfigMap
	if err := t.client.Get(t.Context(), hosts, &registry); err != nil {
		t.Fatal(err)
	}
	return registry.Data[host]
}

// testRollout applies a manifest and scales the site.
func testRollout(t *siteTest) {
	t.cp.WaitHealthy(t, t.cp.Apply(t, "config/site.yaml")...)
	var d appsv1.Deployment
	t.getObject("shop", &d)
	if d.Status.ReadyReplicas != 2 || !metav1.IsControlledBy(&d, t.getSite("shop")) {
		t.Errorf("%d Pods are ready, owners are %v", d.Status.ReadyReplicas, d.OwnerReferences)
	}
	if got, want := t.hostOwner("shop.example"), t.namespace+"/shop"; got != want {
		t.Errorf("the host belongs to %q, want %q", got, want)
	}
	s := t.getSite("shop")
	before := s.deepCopy()
	s.Spec.Replicas = 5
	// An update might conflict with the operator's last write of the status.
	if err := t.client.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	t.cp.WaitHealthy(t, s)
	if t.getObject("shop", &d); d.Status.ReadyReplicas != 5 {
		t.Errorf("%d Pods are ready, want 5", d.Status.ReadyReplicas)
	}
}

func (t *siteTest) getSite(name string) *Site {
	t.Helper()
	s := &Site{}
	t.getObject(name, s)
	return s
}

// testDeletion checks the finalizer and the garbage collection of owned objects.
func testDeletion(t *siteTest) {
	s := t.createSite("old", "old.example")
	t.cp.WaitHealthy(t, s)
	if err := t.client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	owned := t.cp.ObjectsByName(t, "deploy/old", "service/old")
	t.cp.WaitGone(t, append(owned, s)...)
	if got := t.hostOwner("old.example"); got != "" {
		t.Errorf("the host still belongs to %s", got)
	}
}

// testNamespaceDeletion deletes a namespace with a Site: the finalizer must not block that.
func testNamespaceDeletion(t *siteTest) {
	s := t.createSite("gone", "gone.example")
	t.cp.WaitHealthy(t, s)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	if err := t.client.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.cp.WaitGone(t, ns, s)
	if got := t.hostOwner("gone.example"); got != "" {
		t.Errorf("the host still belongs to %s", got)
	}
}

// testHostIsTaken creates two Sites with one host.
func testHostIsTaken(t *siteTest) {
	first := t.createSite("first", "one.example")
	t.cp.WaitHealthy(t, first)
	second := t.createSite("second", "one.example")
	if err := t.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	t.cp.WaitHealthy(t, second) // retried until the host is free
	if got := t.hostOwner("one.example"); !strings.HasSuffix(got, "/second") {
		t.Errorf("the host belongs to %q", got)
	}
}
