package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// kindAge is how long a kind has existed when measureGarbageCollection uses it.
const kindAge = 2 * time.Second

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// measureCRDs creates many CRDs and measures time, CPU and memory.
func (m *measurement) measureCRDs(ctx context.Context, a *apiClient) error {
	cpu, began := m.controlPlane.startCPUTimer(), time.Now()
	for i := range manyCRDs {
		if err := a.createCRD(ctx, newCRD(i)); err != nil {
			return err
		}
	}
	if err := a.awaitEstablished(ctx, manyCRDs); err != nil {
		return err
	}
	m.recordSeconds("crdsEstablished", time.Since(began))
	if err := sleepContext(ctx, m.idle); err != nil {
		return err
	}
	if err := m.recordCPU("crdsCPU", cpu); err != nil {
		return err
	}
	return m.recordRSS("crdsRSS")
}

func sleepContext(ctx context.Context, d time.Duration) error {
	if !sleep.For(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

func (a *apiClient) createCRD(ctx context.Context, c *apiextensions.CustomResourceDefinition) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return a.sendRequest(ctx, http.MethodPost, crdPath, string(body))
}

// awaitEstablished returns when n CRDs are established.
func (a *apiClient) awaitEstablished(ctx context.Context, n int) error {
	config := a.restConfig()
	config.ContentType = runtime.ContentTypeJSON
	client, err := extensionsclient.NewForConfigAndClient(config, a.client)
	if err != nil {
		return err
	}
	w, err := startWatch(ctx, client.CustomResourceDefinitions().Watch)
	if err != nil {
		return err
	}
	defer w.Stop()
	return awaitCount(ctx, w, n, isEstablished)
}

func isEstablished(o runtime.Object) bool {
	c, ok := o.(*apiextensions.CustomResourceDefinition)
	return ok && apihelpers.IsCRDConditionTrue(c, apiextensions.Established)
}

// measureNewKinds measures how long after the creation of its CRD kubectl can explain a
// kind and apply its objects.
func (m *measurement) measureNewKinds(ctx context.Context, a *apiClient) error {
	config, err := m.writeKubeconfig()
	if err != nil {
		return err
	}
	object := filepath.Join(m.workDir.dir, "object.yaml")
	if err := os.WriteFile(object, []byte("apiVersion: new.bench.example.com/v1\nkind: Applied\nmetadata: {name: first}\n"), 0o600); err != nil {
		return err
	}
	tries := []struct {
		key, kind string
		args      []string
	}{
		{"explainNew", "Explained", []string{"explain", "explaineds.new.bench.example.com"}},
		{"applyNew", "Applied", []string{"apply", "-f", object}},
	}
	for _, t := range tries {
		if err := a.createCRD(ctx, newMinimalCRD(t.kind)); err != nil {
			return err
		}
		began := time.Now()
		try := func(ctx context.Context) error { return m.runKubectl(ctx, config, t.args...) }
		if err := pollUntil(ctx, pollInterval, try); err != nil {
			return fmt.Errorf("kubectl %s: %w", t.args[0], err)
		}
		m.recordSeconds(t.key, time.Since(began))
	}
	if err := a.sendRequest(ctx, http.MethodGet, "/openapi/v2", ""); err != nil {
		return err
	}
	return m.recordRSS("crdsRSSAsked")
}

func newMinimalCRD(kind string) *apiextensions.CustomResourceDefinition {
	return newNamespacedCRD("new.bench.example.com", kind, apiextensions.JSONSchemaProps{Type: "object", Description: "The desired state."})
}

// measureGarbageCollection measures how long a dependent of a custom resource outlives it.
func (m *measurement) measureGarbageCollection(ctx context.Context, a *apiClient) error {
	if err := a.createCRD(ctx, newMinimalCRD("Owner")); err != nil {
		return err
	}
	const owners, configMaps = "/apis/new.bench.example.com/v1/namespaces/bench/owners", "/api/v1/namespaces/bench/configmaps"
	err := pollUntil(ctx, pollInterval, func(ctx context.Context) error { return a.sendRequest(ctx, http.MethodGet, owners, "") })
	if err != nil {
		return err
	}
	if err := sleepContext(ctx, kindAge); err != nil {
		return err
	}
	uid, err := a.createObject(ctx, owners, `{"apiVersion":"new.bench.example.com/v1","kind":"Owner","metadata":{"name":"owner"}}`)
	if err != nil {
		return err
	}
	if uid == "" {
		return errors.New("the owner has no UID")
	}
	child := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"child","ownerReferences":[{"apiVersion":"new.bench.example.com/v1","kind":"Owner","name":"owner","uid":%q}]}}`, uid)
	if err := a.sendRequest(ctx, http.MethodPost, configMaps, child); err != nil {
		return err
	}
	began := time.Now()
	if err := a.sendRequest(ctx, http.MethodDelete, owners+"/owner", ""); err != nil {
		return err
	}
	if err := a.awaitDeleted(ctx, configMaps+"/child", pollInterval); err != nil {
		return err
	}
	m.recordSeconds("childGone", time.Since(began))
	return nil
}

// writeKubeconfig writes a kubeconfig for the control plane and returns its path.
func (m *measurement) writeKubeconfig() (string, error) {
	path := m.workDir.join("kubectl.kubeconfig")
	var pem [3][]byte
	for i, name := range []string{"ca.crt", "admin.crt", "admin.key"} {
		var err error
		if pem[i], err = os.ReadFile(filepath.Join(m.controlPlane.certs(), name)); err != nil {
			return "", err
		}
	}
	return path, kubeconfig.Write(path, kubeconfig.New("bench", m.controlPlane.url, pem[0], pem[1], pem[2]))
}
