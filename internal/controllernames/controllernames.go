// Package controllernames has the names by which code that links no Kubernetes server knows controllers and their
// queues in records.
package controllernames

// Controllers of kube-controller-manager.
const (
	CronJob                 = "cronjob-controller"
	Deployment              = "deployment-controller"
	EndpointSliceMirror     = "endpointslice-mirroring-controller"
	GarbageCollector        = "garbage-collector-controller"
	HorizontalPodAutoscaler = "horizontal-pod-autoscaler-controller"
	Namespace               = "namespace-controller"
	NodeLifecycle           = "node-lifecycle-controller"
	PodGarbageCollector     = "pod-garbage-collector-controller"
	ReplicaSet              = "replicaset-controller"
	ReplicationController   = "replicationcontroller-controller"
	ServiceAccount          = "serviceaccount-controller"
	TaintEviction           = "taint-eviction-controller"
	TTLAfterFinished        = "ttl-after-finished-controller"
)

// GarbageCollectorQueue has the objects whose owners the garbage collector looks up.
const GarbageCollectorQueue = "garbage_collector_attempt_to_delete"

// SimulatedKubelet is the controller that the records of simulated kubelets name.
const SimulatedKubelet = "simulated-kubelet"
