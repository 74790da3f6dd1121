package main

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestWithEnvtest is a typical test with envtest. With "go test -exec 'ctrlplane run --' ./..."
// it uses a control plane with controllers, so that the namespace can be deleted.
func TestWithEnvtest(t *testing.T) {
	if os.Getenv("USE_EXISTING_CLUSTER") != "true" {
		t.Skip(`run by "go test -exec 'ctrlplane run --' ./..."`)
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"config"}, ErrorIfCRDPathMissing: true}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := startOperator(t, cfg)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "envtest-"}}
	registry := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hosts.Namespace}}
	for _, o := range []client.Object{namespace, registry, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: hosts.Namespace, Name: hosts.Name}}} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	site := &Site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "shop"}, Spec: SiteSpec{Host: "shop.example", Image: "registry.example/shop:1", Replicas: 1}}
	if err := c.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "ready site", func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(site), site) == nil && len(site.Status.Conditions) > 0 && site.Status.Conditions[0].Status == metav1.ConditionTrue
	})
	if err := c.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "deletion of the namespace", func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace))
	})
}

func awaitTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s within a minute", what)
		}
	}
}
