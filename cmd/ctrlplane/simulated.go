package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

// What nothing in a control plane does with objects of these kinds.
const (
	networkPolicySimulation = "No component of a control plane enforces a NetworkPolicy: simulated Pods receive every request."
	ingressSimulation       = "The control plane runs no ingress controller: an Ingress has no address and routes no requests unless you run one."
)

// explainSimulation says what is not simulated about an object, or about the Pods that are created from it; empty if
// nothing has to be said, or if that cannot be found out.
func explainSimulation(ctx context.Context, cfg *rest.Config, about observe.Object) string {
	switch about.Group + "/" + about.Kind {
	case "networking.k8s.io/NetworkPolicy":
		return networkPolicySimulation
	case "networking.k8s.io/Ingress":
		return ingressSimulation
	}
	return explainPrograms(ctx, cfg, schema.GroupKind{Group: about.Group, Kind: about.Kind}, about.Namespace, about.Name)
}

// programKinds are the resources of Pods, and of objects with a template of them, whose programs may be simulated.
var programKinds = map[schema.GroupKind]schema.GroupVersionResource{
	{Kind: "Pod"}:                        corev1.SchemeGroupVersion.WithResource("pods"),
	{Group: "batch", Kind: "Job"}:        batchv1.SchemeGroupVersion.WithResource("jobs"),
	{Group: "apps", Kind: "Deployment"}:  appsv1.SchemeGroupVersion.WithResource("deployments"),
	{Group: "apps", Kind: "ReplicaSet"}:  appsv1.SchemeGroupVersion.WithResource("replicasets"),
	{Group: "apps", Kind: "StatefulSet"}: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	{Group: "apps", Kind: "DaemonSet"}:   appsv1.SchemeGroupVersion.WithResource("daemonsets"),
}

// explainPrograms says which programs of an object are not simulated; empty if none are, if it has no programs, or if that cannot be
// found out.
func explainPrograms(ctx context.Context, cfg *rest.Config, kind schema.GroupKind, namespace, name string) string {
	resource, hasPrograms := programKinds[kind]
	if !hasPrograms {
		return ""
	}
	clients, err := objectclients.New(cfg)
	if err != nil {
		return ""
	}
	u, err := clients.Objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	pod := podOf(u)
	if pod == nil {
		return ""
	}
	said := nodes.ExplainSimulation(pod)
	if said == "" {
		return ""
	}
	objects, err := metadata.NewForConfigAndClient(clients.Config, clients.HTTP) // there may be many Nodes, which are large
	if err != nil || !runsSimulated(ctx, objects, pod) {
		return ""
	}
	return said
}

// podOf returns a Pod, or one as the controller of an object creates it; nil if the object is to have none.
func podOf(u *unstructured.Unstructured) *corev1.Pod {
	content := u.Object
	if u.GetKind() != "Pod" {
		if hasNoPods(u) {
			return nil
		}
		content, _, _ = unstructured.NestedMap(content, "spec", "template")
	}
	pod := &corev1.Pod{} // a template has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, pod); err != nil {
		return nil
	}
	if u.GetKind() != "Pod" {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())}
	}
	return pod
}

// hasNoPods reports whether a workload is to have no Pods: it has no replicas, or is a DaemonSet that matches no node.
func hasNoPods(u *unstructured.Unstructured) bool {
	if u.GetKind() == "DaemonSet" {
		wanted, _, _ := unstructured.NestedInt64(u.Object, "status", "desiredNumberScheduled")
		return wanted == 0
	}
	replicas, isSet, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	return isSet && replicas == 0
}

// runsSimulated reports whether the node of a Pod is simulated. One without a node may run on any: all of them have to be.
func runsSimulated(ctx context.Context, objects metadata.Interface, pod *corev1.Pod) bool {
	list := objects.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	isReal := func(o metav1.PartialObjectMetadata) bool {
		return !annotations.IsSimulated(&corev1.Node{ObjectMeta: o.ObjectMeta})
	}
	if name := pod.Spec.NodeName; name != "" {
		node, err := list.Get(ctx, name, metav1.GetOptions{})
		return err == nil && !isReal(*node)
	}
	found, err := list.List(ctx, metav1.ListOptions{})
	return err == nil && len(found.Items) > 0 && !slices.ContainsFunc(found.Items, isReal)
}

const (
	maxSimulated     = 3 // objects that a line names …
	maxSimulatedEach = 2 // … and programs of each
)

// simulatedLine says in one line what Pods have not run; empty if there is nothing. more means that not all was kept.
func simulatedLine(list []ctrlplane.NotRunPrograms, more bool) string {
	if len(list) == 0 {
		return ""
	}
	var named []string
	for _, o := range list {
		named = append(named, fmt.Sprintf("%s %s/%s (%s)", o.Kind, o.Namespace, o.Name, words.First(o.Programs, maxSimulatedEach)))
	}
	line := "simulated, not run: " + words.First(named, maxSimulated)
	if more {
		line += ", at least"
	}
	return words.OneLine(line) // commands are any text
}

// simulatedObjects has one line for each object, with all that its Pods have not run; nil if simulatedLine has it all.
func simulatedObjects(list []ctrlplane.NotRunPrograms) (lines []string) {
	all := len(list) <= maxSimulated
	for _, o := range list {
		all = all && len(o.Programs) <= maxSimulatedEach
		lines = append(lines, words.OneLine(fmt.Sprintf("%s %s/%s (%s)", o.Kind, o.Namespace, o.Name, strings.Join(o.Programs, ", "))))
	}
	if all {
		return nil
	}
	return lines
}
