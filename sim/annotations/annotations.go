// Package annotations lists every annotation that the simulation reads or writes
// on Nodes, Pods and Services, and reads those of Nodes.
package annotations

import corev1 "k8s.io/api/core/v1"

// prefix begins the names of ctrlplane's own annotations.
const prefix = "ctrlplane.local/"

// Annotations of a Node.
const (
	// KwokNode is kwok's annotation of a simulated node.
	KwokNode = "kwok.x-k8s.io/node"
	// KwokFake is the value of KwokNode that makes a node a simulated one.
	KwokFake = "fake"
	// Failed stops the heartbeat of a simulated node while it is True.
	Failed = prefix + "failed"
	// Terminated says, when it is True, that the machine of the node no longer
	// exists at the cloud provider.
	Terminated = prefix + "terminated"
	// True is the value of Failed and Terminated.
	True = "true"
)

// Annotations of a Pod that say what its containers do. Without them a container runs its command
// if the simulated shell can; otherwise that of a Job exits with code 0 at once, and any other
// keeps running.
const (
	ExitCode   = prefix + "exit-code"   // CODE of all main containers, or CONTAINER=CODE,…
	RunFor     = prefix + "run-for"     // how long they run before they exit; 0 is the exit code unless ExitCode is set
	Failures   = prefix + "failures"    // how many runs exit with ExitCode; later runs ignore it
	ReadyAfter = prefix + "ready-after" // how long they run before they are ready
	StopAfter  = prefix + "stop-after"  // how long they take to stop; at most the grace period
	Log        = prefix + "log"         // what each container writes when it starts
	// Run is a shell script that the main containers run instead of their command.
	// With "." and the name of a container after it, it is that container's.
	Run = prefix + "run"
	// HTTP is a table of what the Pod answers to HTTP requests: see package podhttp.
	HTTP = prefix + "http"
)

// Annotations of a Pod that say what its containers use, with kwok's names:
// QUANTITY of each container, or CONTAINER=QUANTITY,….
const (
	UsageCPU    = "kwok.x-k8s.io/usage-cpu"
	UsageMemory = "kwok.x-k8s.io/usage-memory"
)

// LoadBalancerIPs is an annotation of a Service: the addresses that its load
// balancer is to have, at most one of each IP family, separated by commas. It
// takes precedence over spec.loadBalancerIP, which is deprecated and holds only
// one address.
const LoadBalancerIPs = prefix + "load-balancer-ips"

// IsSimulated reports whether ctrlplane acts as the kubelet of the node.
func IsSimulated(node *corev1.Node) bool { return node.Annotations[KwokNode] == KwokFake }

// HasFailed reports whether the node was made to fail.
func HasFailed(node *corev1.Node) bool { return node.Annotations[Failed] == True }

// IsTerminated reports whether the machine of the node no longer exists.
func IsTerminated(node *corev1.Node) bool { return node.Annotations[Terminated] == True }

// IsLive reports whether the node is simulated and its kubelet is running.
func IsLive(node *corev1.Node) bool {
	return IsSimulated(node) && !HasFailed(node) && !IsTerminated(node)
}
