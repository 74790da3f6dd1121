package nodes

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/kwok/kustomize/crd"
	kwokfake "sigs.k8s.io/kwok/pkg/client/clientset/versioned/fake"
	"sigs.k8s.io/yaml"
)

func newCRDClient(objects ...runtime.Object) *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{crdResource: "CustomResourceDefinitionList"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

func newEstablishedStageCRD(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd.Stage, &definition.Object); err != nil {
		t.Fatal(err)
	}
	conditions := []any{map[string]any{"type": "Established", "status": "True"}}
	if err := unstructured.SetNestedSlice(definition.Object, conditions, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	return definition
}

// A request that fails because the object exists is recorded, and looks like a fault.
func TestExistingStageCRDIsNotCreated(t *testing.T) {
	client := newCRDClient(newEstablishedStageCRD(t))
	if err := ensureStageCRD(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() == "create" {
			t.Error("created again")
		}
	}
}

// A webhook that is down refuses the CRD. The stages work once it is gone.
func TestStageCRDIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCRDClient()
		failures := 2
		client.PrependReactor("create", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
			if failures--; failures >= 0 {
				return true, nil, errors.New("refused")
			}
			return true, nil, client.Tracker().Add(newEstablishedStageCRD(t))
		})
		kwok := kwokfake.NewSimpleClientset()
		objects := clientfake.NewClientset()
		f, err := startWithClients(t.Context(), Config{Informers: runInformers(t, objects)}, objects, stageClients{client, kwok}, newPlayed(nil))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * stageCRDInterval)
		synctest.Wait()
		if len(kwok.Actions()) == 0 {
			t.Error("Stage objects are not watched")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}
