// Package mark names the annotations of a Node that say that it is simulated and
// how it fares. Package nodes sets them; the simulated kubelets, the metrics API
// and the cloud provider read them, too.
package annotations

import corev1 "k8s.io/api/core/v1"

const (
	// KwokNode marks, as in kwok, a node that is simulated, when it is Fake.
	KwokNode, KwokFake = "kwok.x-k8s.io/node", "fake"
	// Failed stops a node's heart-beat while it is Yes.
	Failed = "ctrlplane/failed"
	// Terminated says, when it is Yes, that the cloud provider has no machine for
	// the node any more.
	Terminated = "ctrlplane/terminated"
	// True is what the last two are set to.
	True = "true"
)

// IsSimulated is whether nobody but ctrlplane plays the node's kubelet.
func IsSimulated(node *corev1.Node) bool { return node.Annotations[KwokNode] == KwokFake }

// HasFailed is whether the node was made to fail.
func HasFailed(node *corev1.Node) bool { return node.Annotations[Failed] == True }

// IsTerminated is whether the node's machine is gone.
func IsTerminated(node *corev1.Node) bool { return node.Annotations[Terminated] == True }

// IsLive is whether the node is simulated and its kubelet does something.
func IsLive(node *corev1.Node) bool {
	return IsSimulated(node) && !HasFailed(node) && !IsTerminated(node)
}
