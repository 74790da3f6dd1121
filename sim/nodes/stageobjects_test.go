package nodes

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
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
	if err := ensureStageCRD(t.Context(), client, func() { t.Error("it exists") }); err != nil {
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
		f, err := startWithClients(t.Context(), Config{Informers: runInformers(t, objects)}, objects, stageClients{dynamic: client, kwok: kwok}, newPlayed(nil))
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

// TestStagesAreListedBeforePodsArePlayed starts a fleet, as after a restore, with a Pod that a Stage holds.
func TestStagesAreListedBeforePodsArePlayed(t *testing.T) {
	for name, test := range map[string]struct {
		listTime time.Duration
		want     corev1.PodPhase
	}{
		"slow":     {maxStageWait / 2, corev1.PodPending},
		"too slow": {2 * maxStageWait, corev1.PodRunning},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				holds := parseStage(t, strings.NewReplacer("[Running]", "[Pending]", "phase: Failed\\nreason: Demo", "reason: Waits").Replace(podStage))
				kwok := kwokfake.NewSimpleClientset(holds)
				kwok.PrependReactor("list", "stages", func(clienttesting.Action) (bool, runtime.Object, error) {
					<-time.After(test.listTime)
					return false, nil, nil
				})
				pod := testPod(func(p *corev1.Pod) {
					p.Labels, p.Spec.NodeName, p.Status.Phase = map[string]string{"fails": "yes"}, nodeName(1), corev1.PodPending
				})
				objects := clientfake.NewClientset(pod)
				stages := stageClients{dynamic: newCRDClient(newEstablishedStageCRD(t)), kwok: kwok}
				f, err := startWithClients(t.Context(), Config{Count: 1, Informers: runInformers(t, objects)}, objects, stages, newPlayed(nil))
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(test.listTime + time.Minute)
				synctest.Wait()
				got, err := objects.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
				if err != nil || got.Status.Phase != test.want {
					t.Errorf("the Pod is %+v, want %s: %v", got.Status, test.want, err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStagesAreGoneAfterAList has a list without the Stage that a Pod waited for.
func TestStagesAreGoneAfterAList(t *testing.T) {
	client := clientfake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	feed := stageFeed{f.simulation}
	waits := parseStage(t, strings.NewReplacer("[Running]", "[Pending]", "phase: Failed\\nreason: Demo", "reason: Waits").Replace(podStage))
	if err := feed.Add(waits); err != nil {
		t.Fatal(err)
	}
	pod := testPod(func(p *corev1.Pod) { p.Labels = map[string]string{"fails": "yes"} })
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Reason == "Waits" })
	isRunning := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }
	later := testPod(func(p *corev1.Pod) { p.Name, p.UID = "later", "later" })
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), later, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForPod(t, client, later, isRunning) // all events before have been handled
	if err := feed.Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	waitForPod(t, client, pod, isRunning)
}

// TestStageOfNodesIsPlayedAtOnce adds a Stage for a Node that exists and does not change.
func TestStageOfNodesIsPlayedAtOnce(t *testing.T) {
	client := clientfake.NewClientset()
	f := startTestFleet(t, client, Config{Count: 1})
	marks := parseStage(t, `
metadata: {name: marks}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions: [{key: .status.nodeInfo.machineID, operator: NotIn, values: [marked]}]
  next: {statusTemplate: "nodeInfo: {machineID: marked}"}
`)
	for f.registry.dueNodeStage(nodeName(1)).name != nodeStatusLater { // until its creation has been handled
		goruntime.Gosched()
	}
	if err := (stageFeed{f.simulation}).Add(marks); err != nil {
		t.Fatal(err)
	}
	awaitNode(t, client, func(node *corev1.Node) bool { return node.Status.NodeInfo.MachineID == "marked" })
}

// TestStagesApplyNewKinds has a kind that is defined after another one was looked up.
func TestStagesApplyNewKinds(t *testing.T) {
	kinds := clientfake.NewClientset().Discovery().(*fakediscovery.FakeDiscovery)
	serve := func(version, kind, resource string) {
		kinds.Resources = append(kinds.Resources, &metav1.APIResourceList{GroupVersion: version, APIResources: []metav1.APIResource{{Name: resource, Kind: kind}}})
	}
	mapper := newStageMapper(kinds)
	serve("v1", "ConfigMap", "configmaps")
	if _, err := mapper.RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1"); err != nil {
		t.Fatal(err)
	}
	site := schema.GroupKind{Group: "example.com", Kind: "Site"}
	if _, err := mapper.RESTMapping(site, "v1"); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not defined: %v", err)
	}
	serve("example.com/v1", "Site", "sites")
	found, err := mapper.RESTMapping(site, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if found.Resource.Resource != "sites" {
		t.Errorf("got %v", found.Resource)
	}
}

// awaitNode waits until the first node of a fleet is as it should be.
func awaitNode(t *testing.T, client kubernetes.Interface, until func(*corev1.Node) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	now, err := client.CoreV1().Nodes().Get(ctx, nodeName(1), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for !until(now) {
		select {
		case e := <-w.ResultChan():
			now, _ = e.Object.(*corev1.Node)
		case <-ctx.Done():
			t.Fatalf("the node is still %+v", now.Status)
		}
	}
}
