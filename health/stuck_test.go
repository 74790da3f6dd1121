package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// TestFindStuck has namespaces, rollouts and APIServices that may wait without an end, among others.
func TestFindStuck(t *testing.T) {
	c := newCluster(t, append(documents(`
apiVersion: v1
kind: Namespace
metadata: {name: default}
status: {phase: Active}
---
apiVersion: v1
kind: Namespace
metadata: {name: gone, deletionTimestamp: "2026-01-02T03:04:05Z"}
spec: {finalizers: [kubernetes]}
status:
  phase: Terminating
  conditions:
  - {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: configmaps. has 1 resource instances"}
  - {type: NamespaceDeletionDiscoveryFailure, status: "False", message: All resources successfully discovered}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: late, generation: 1, uid: late}
spec: {replicas: 1, progressDeadlineSeconds: 5}
status:
  observedGeneration: 1
  unavailableReplicas: 1
  conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: ReplicaSet "late-1" has timed out progressing.}]
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: late-1, generation: 1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: late, uid: late, controller: true}]}
spec: {replicas: 1}
status:
  observedGeneration: 1
  conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: "exceeded quota: none"}]
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.a.example.com}, spec: {group: a.example.com, version: v1}, status: {conditions: [
  {type: Available, status: "False", reason: FailedDiscoveryCheck, message: connection refused, lastTransitionTime: "2026-01-02T03:04:06Z"}]}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.b.example.com}, spec: {group: b.example.com, version: v1}}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.apps}, spec: {group: apps, version: v1}, status: {conditions: [{type: Available, status: "True", reason: Local}]}}`), rolledOut)...)
	found, err := c.FindStuck(t.Context(), Candidates{})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, s := range found {
		got = append(got, []string{s.Ref.String(), string(s.Status), s.Reason, s.Since.UTC().Format(time.RFC3339)})
	}
	if diff := cmp.Diff([][]string{
		{"Namespace gone", "Terminating", "being deleted: Some resources are remaining: configmaps. has 1 resource instances", "2026-01-02T03:04:05Z"},
		{"Deployment shop/late", "Failed", "exceeded its progressDeadlineSeconds of 5; ReplicaSet late-1: FailedCreate: exceeded quota: none", "0001-01-01T00:00:00Z"},
		{"APIService v1.a.example.com", "InProgress", "not available: FailedDiscoveryCheck: connection refused", "2026-01-02T03:04:06Z"},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Pod whose node does not exist is stuck although it is ready.
func TestFindStuckOnMissingNode(t *testing.T) {
	c := newCluster(t, strings.Replace(runningPod, "status:", "spec: {nodeName: ghost}\nstatus:", 1), webPod("q", "web", `{phase: Running, conditions: [{type: Ready, status: "True"}]}`))
	found, err := c.FindStuck(t.Context(), Candidates{Unhealthy: []observe.Object{{Kind: "Pod", Namespace: "shop", Name: "p"}, {Kind: "Pod", Namespace: "shop", Name: "q"}}})
	if err != nil || len(found) != 1 || found[0].Status != Current || found[0].Reason != "its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod" {
		t.Errorf("got %+v, %v", found, err)
	}
}

// Of the objects about which operators warn, those are stuck that are not as they should be.
func TestFindStuckWarned(t *testing.T) {
	object := func(name, conditions string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: ` + name + `}, status: {conditions: [` + conditions + `]}}`
	}
	c := newCluster(t, object("ready", `{type: Ready, status: "True"}`), object("unready", `{type: Ready, status: "False"}`), object("bad", `{type: Synced, status: "False", message: no luck}`))
	c.serve("example.com/v1", "widgets", "Widget", true)
	c.serve("gateway.networking.k8s.io/v1", "gateways", "Gateway", true) // its plural cannot be guessed
	c.create(t, schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"},
		strings.Replace(object("g", `{type: Programmed, status: "False", message: no listener}`), "example.com/v1, kind: Widget", "gateway.networking.k8s.io/v1, kind: Gateway", 1))
	var warned []observe.Object
	for _, name := range []string{"ready", "unready", "bad", "gone"} {
		warned = append(warned, observe.Object{Group: "example.com", Kind: "Widget", Namespace: "shop", Name: name})
	}
	warned = append(warned, observe.Object{Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: "shop", Name: "g"}, observe.Object{Group: "gone.example.com", Kind: "Widget", Namespace: "shop", Name: "bad"})
	found, err := c.FindStuck(t.Context(), Candidates{Warned: warned})
	if err != nil || len(found) != 2 || found[0].Ref.Name != "bad" || found[0].Reason != "its condition Synced is False: no luck" || found[1].Ref.Kind != "Gateway" {
		t.Errorf("got %+v, %v", found, err)
	}
}

// An object that cannot be read, as while its conversion webhook does not run, does not hide the others.
func TestFindStuckUnreadable(t *testing.T) {
	c := newCluster(t, failedPod)
	c.objects.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("conversion webhook failed")
	})
	found, err := c.FindStuck(t.Context(), Candidates{Unhealthy: []observe.Object{{Resource: "configmaps", Namespace: "shop", Name: "c"}, {Kind: "Pod", Namespace: "shop", Name: "p"}}})
	if err != nil || len(found) != 2 {
		t.Fatalf("got %+v, %v", found, err)
	}
	if s := found[0]; s.Ref.String() != "ConfigMap shop/c" || s.Status != Unknown || s.Reason != "cannot be read: conversion webhook failed" {
		t.Errorf("got %+v", s)
	}
	if found[1].Ref.String() != "Pod shop/p" || found[1].Status != Failed {
		t.Errorf("got %+v", found[1])
	}
}

// What is stuck for several reasons is returned once, with the time and the whole reason.
func TestFindStuckOnce(t *testing.T) {
	const deleted = `deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [example.com/wait]`
	c := newCluster(t,
		`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p, `+deleted+`}, spec: {nodeName: ghost}, status: {phase: Running}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: c, `+deleted+`}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: late, generation: 1, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: w, controller: true}]},
  spec: {replicas: 1, progressDeadlineSeconds: 5}, status: {observedGeneration: 1, unavailableReplicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`)
	found, err := c.FindStuck(t.Context(), Candidates{Unhealthy: []observe.Object{{Kind: "Pod", Namespace: "shop", Name: "p"}, {Resource: "configmaps", Namespace: "shop", Name: "c"}, {Group: "apps", Resource: "deployments", Namespace: "shop", Name: "late"}},
		Deleted: []observe.Object{{Resource: "configmaps", Namespace: "shop", Name: "c"}, {Resource: "pods", Namespace: "shop", Name: "p"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		got = append(got, fmt.Sprint(s.Ref, " ", s.Status, " ", !s.Since.IsZero(), " ", s.Owner))
	}
	if diff := cmp.Diff([]string{"Deployment shop/late Failed false Widget shop/w", "Pod shop/p Terminating true  ", "ConfigMap shop/c Terminating true  "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := found[1]; !strings.Contains(s.Reason, "its node ghost does not exist") {
		t.Errorf("got %s", s.Reason)
	}
}

// Of many namespaces that hang, what remains is named in the first ones only, and only while there is time: the conditions are always said.
func TestFindStuckNamespaces(t *testing.T) {
	const hanging = `{apiVersion: v1, kind: Namespace, metadata: {name: ns-%d, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: [
  {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: configmaps. has 1 resource instances, secrets. has 1 resource instances"}]}}`
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprint("slow: ", slow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const count = 25
				var manifests []string
				for i := range count {
					manifests = append(manifests, fmt.Sprintf(hanging, i))
				}
				c := newCluster(t, manifests...)
				c.Waiter.objects = slowConfigMaps{c.objects, slow}
				for _, ns := range []string{"ns-0", "ns-1", "ns-10", "ns-11", "ns-9"} {
					c.create(t, coreResource("configmaps"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: left, namespace: "+ns+"}}")
				}
				began := time.Now()
				found, err := c.FindStuck(t.Context(), Candidates{})
				if err != nil || len(found) != count {
					t.Fatalf("got %d, %v", len(found), err)
				}
				if took := time.Since(began); took > maxNaming {
					t.Errorf("took %v", took)
				}
				var named []string
				for _, s := range found {
					if !strings.Contains(s.Reason, "configmaps. has 1 resource instances") {
						t.Errorf("got %s", s.Reason)
					}
					if strings.Contains(s.Reason, "remaining: ConfigMap left") {
						named = append(named, s.Ref.Name)
					}
				}
				want := []string{"ns-0", "ns-1", "ns-10"}
				if slow {
					want = nil
				}
				if diff := cmp.Diff(want, named); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// slowConfigMaps answers a list of ConfigMaps only when the request ends, if it is slow.
type slowConfigMaps struct {
	dynamic.Interface
	slow bool
}

func (s slowConfigMaps) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return slowList{s.Interface.Resource(r), s.slow && r.Resource == "configmaps"}
}

type slowList struct {
	dynamic.NamespaceableResourceInterface
	slow bool
}

func (l slowList) Namespace(name string) dynamic.ResourceInterface {
	return slowListIn{l.NamespaceableResourceInterface.Namespace(name), l.slow}
}

type slowListIn struct {
	dynamic.ResourceInterface
	slow bool
}

func (l slowListIn) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if l.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.ResourceInterface.List(ctx, o)
}

// Of objects that may have an owner whose kind is not served, only those that have one are stuck, and those that cannot be read.
func TestFindStuckDependents(t *testing.T) {
	owned := func(manifest, apiVersion, kind string) string {
		return strings.Replace(manifest, "namespace: shop,", "namespace: shop, ownerReferences: [{apiVersion: "+apiVersion+", kind: "+kind+", name: w, uid: w}],", 1)
	}
	const service = `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: late}, spec: {clusterIP: 10.0.0.1, selector: {app: late}}}`
	c := newCluster(t, owned(justMade, "example.com/v2", "Widget"), owned(service, "apps/v1", "Deployment"),
		owned(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: orphan}}`, "example.com/v1", "Gizmo"), owned(failedPod, "example.com/v1", "Gizmo"))
	c.serve("example.com/v2", "widgets", "Widget", true)
	c.objects.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no conversion")
	})
	object := func(resource, group, name string) observe.Object {
		return observe.Object{Group: group, Resource: resource, Namespace: "shop", Name: name}
	}
	found, err := c.FindStuck(t.Context(), Candidates{Dependents: []observe.Object{
		object("deployments", "apps", "web"), object("services", "", "late"), object("configmaps", "", "orphan"), object("configmaps", "", "gone"), object("pods", "", "p"), object("secrets", "", "s"),
	}})
	var got []string
	for _, s := range found {
		got = append(got, fmt.Sprint(s.Ref, " ", s.Status, " ", strings.Contains(s.Reason, "its owner Gizmo w cannot be looked up: ")))
	}
	if diff := cmp.Diff([]string{"ConfigMap shop/orphan Current true", "Pod shop/p Failed true", "Secret shop/s Unknown false"}, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

// Of what was deleted, objects that wait for a finalizer are stuck, of kinds that are still served.
func TestFindStuckFinalizers(t *testing.T) {
	c := newCluster(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: kept, deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [example.com/wait]}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: again}}`)
	object := func(resource, name string) observe.Object {
		return observe.Object{Resource: resource, Namespace: "shop", Name: name}
	}
	c.objects.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.(clienttesting.GetAction).GetName() == "unread", nil, errors.New("no conversion")
	})
	found, err := c.FindStuck(t.Context(), Candidates{Deleted: []observe.Object{object("configmaps", "unread"), object("configmaps", "kept"), object("configmaps", "again"), object("configmaps", "gone"), object("shops", "corner")}})
	if err != nil || len(found) != 2 {
		t.Fatalf("got %v, %v", found, err)
	}
	if s := found[0]; s.Ref.String() != "ConfigMap shop/unread" || s.Status != Unknown || !strings.Contains(s.Reason, "no conversion") {
		t.Errorf("got %+v", s)
	}
	if s := found[1]; s.Ref.String() != "ConfigMap shop/kept" || s.Status != Terminating || !strings.Contains(s.Reason, "example.com/wait") || s.Since.IsZero() {
		t.Errorf("got %+v", s)
	}
}

// TestFindStuckDiscoversOnce examines several Pods: what is served is read once for all, as the control plane may be busy with
// thousands of such Pods.
func TestFindStuckDiscoversOnce(t *testing.T) {
	const waits = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: %s, ` + ownedBySet + `}, spec: {nodeName: node-0}, status: {phase: Pending, containerStatuses: [
  {name: c, state: {waiting: {reason: CreateContainerConfigError, message: no such ConfigMap}}}]}}`
	var manifests []string
	var others []observe.Object
	for _, name := range []string{"a", "b", "c"} {
		manifests = append(manifests, fmt.Sprintf(waits, name))
		others = append(others, observe.Object{Kind: "Pod", Namespace: "shop", Name: name})
	}
	c := newCluster(t, manifests...)
	found, err := c.FindStuck(t.Context(), Candidates{Unhealthy: others})
	if err != nil || len(found) != len(others) || !strings.Contains(found[2].Reason, "no such ConfigMap") {
		t.Fatalf("got %v, %v", found, err)
	}
	if of := found[2].Owner; of.String() != "ReplicaSet shop/web-2" || of.Group != "apps" {
		t.Errorf("got the owner %+v", of)
	}
	if n := len(c.kinds.Actions()); n > 2*len(c.kinds.Resources) {
		t.Errorf("%d requests for what is served", n)
	}
}
