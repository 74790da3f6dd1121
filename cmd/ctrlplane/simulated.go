package main

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
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
	case "/Pod", "batch/Job":
	default:
		return ""
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return ""
	}
	pod, err := readPod(ctx, client, about)
	if err != nil {
		return ""
	}
	said := nodes.ExplainSimulation(pod)
	if said == "" || !runsSimulated(ctx, client, pod) {
		return ""
	}
	return said
}

// readPod returns a Pod, or one as a Job creates it.
func readPod(ctx context.Context, client kubernetes.Interface, about observe.Object) (*corev1.Pod, error) {
	if about.Kind == "Pod" {
		return client.CoreV1().Pods(about.Namespace).Get(ctx, about.Name, metav1.GetOptions{})
	}
	job, err := client.BatchV1().Jobs(about.Namespace).Get(ctx, about.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return pod, nil
}

// runsSimulated reports whether the node of a Pod is simulated, or for one without a node, whether a node is.
func runsSimulated(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) bool {
	if name := pod.Spec.NodeName; name != "" {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return err == nil && annotations.IsSimulated(node)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0 && annotations.IsSimulated(&list.Items[0])
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
