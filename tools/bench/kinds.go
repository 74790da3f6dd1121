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

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
)

// kindAge is how long a kind has been there when collect uses it.
const kindAge = 2 * time.Second

const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// addCRDs creates many CRDs, and measures what they take.
func (m *meter) addCRDs(ctx context.Context, a *api) error {
	cpu, began := m.plane.stopwatch(), time.Now()
	for i := range manyCRDs {
		if err := a.create(ctx, crd(i)); err != nil {
			return err
		}
	}
	if err := a.established(ctx, manyCRDs); err != nil {
		return err
	}
	m.seconds("crdsEstablished", time.Since(began))
	if err := pause(ctx, m.idle); err != nil {
		return err
	}
	used, err := cpu()
	if err := m.told("crdsCPU", used.Seconds(), err); err != nil {
		return err
	}
	return m.rss("crdsRSS")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *api) create(ctx context.Context, c *apiextensions.CustomResourceDefinition) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return a.request(ctx, http.MethodPost, crdPath, string(body))
}

// established returns when so many CRDs are.
func (a *api) established(ctx context.Context, n int) error {
	config := a.config()
	config.ContentType = runtime.ContentTypeJSON
	client, err := extensionsclient.NewForConfigAndClient(config, a.client)
	if err != nil {
		return err
	}
	w, err := follow(ctx, client.CustomResourceDefinitions().Watch)
	if err != nil {
		return err
	}
	defer w.Stop()
	return count(ctx, w, n, isEstablished)
}

func isEstablished(o runtime.Object) bool {
	c, ok := o.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return false
	}
	for _, condition := range c.Status.Conditions {
		if condition.Type == apiextensions.Established {
			return condition.Status == apiextensions.ConditionTrue
		}
	}
	return false
}

// newKinds measures how long kubectl cannot explain, and apply objects of, a
// kind whose CRD has just been created.
func (m *meter) newKinds(ctx context.Context, a *api) error {
	config, err := m.kubeconfig()
	if err != nil {
		return err
	}
	object := filepath.Join(m.room.dir, "object.yaml")
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
		if err := a.create(ctx, plainKind(t.kind)); err != nil {
			return err
		}
		began := time.Now()
		try := func(ctx context.Context) error { return m.kubectl(ctx, config, t.args...) }
		if err := await(ctx, lookEvery, try); err != nil {
			return fmt.Errorf("kubectl %s: %w", t.args[0], err)
		}
		m.seconds(t.key, time.Since(began))
	}
	if err := a.request(ctx, http.MethodGet, "/openapi/v2", ""); err != nil {
		return err
	}
	return m.rss("crdsRSSAsked")
}

func plainKind(kind string) *apiextensions.CustomResourceDefinition {
	return defined("new.bench.example.com", kind, apiextensions.JSONSchemaProps{Type: "object", Description: "What is wanted."})
}

// collect measures how long the child of a custom resource outlives it.
func (m *meter) collect(ctx context.Context, a *api) error {
	if err := a.create(ctx, plainKind("Owner")); err != nil {
		return err
	}
	const owners, configMaps = "/apis/new.bench.example.com/v1/namespaces/bench/owners", "/api/v1/namespaces/bench/configmaps"
	err := await(ctx, lookEvery, func(ctx context.Context) error { return a.request(ctx, http.MethodGet, owners, "") })
	if err != nil {
		return err
	}
	if err := pause(ctx, kindAge); err != nil {
		return err
	}
	uid, err := a.created(ctx, owners, `{"apiVersion":"new.bench.example.com/v1","kind":"Owner","metadata":{"name":"owner"}}`)
	if err != nil {
		return err
	}
	if uid == "" {
		return errors.New("the owner has no UID")
	}
	child := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"child","ownerReferences":[{"apiVersion":"new.bench.example.com/v1","kind":"Owner","name":"owner","uid":%q}]}}`, uid)
	if err := a.request(ctx, http.MethodPost, configMaps, child); err != nil {
		return err
	}
	began := time.Now()
	if err := a.request(ctx, http.MethodDelete, owners+"/owner", ""); err != nil {
		return err
	}
	if err := a.gone(ctx, configMaps+"/child", lookEvery); err != nil {
		return err
	}
	m.seconds("childGone", time.Since(began))
	return nil
}

// kubeconfig writes one for the control plane that is measured, and returns its path.
func (m *meter) kubeconfig() (string, error) {
	path := m.room.join("kubectl.kubeconfig")
	var pem [3][]byte
	for i, name := range []string{"ca.crt", "admin.crt", "admin.key"} {
		var err error
		if pem[i], err = os.ReadFile(filepath.Join(m.plane.certs(), name)); err != nil {
			return "", err
		}
	}
	return path, kubeconfig.Write(path, kubeconfig.New("bench", m.plane.url, pem[0], pem[1], pem[2]))
}
