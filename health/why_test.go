package health

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

const (
	ownedByWeb = `ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: uid-of-web, controller: true}]`
	ownedBySet = `ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-2, uid: uid-of-web-2, controller: true}]`
	oldSet     = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-1, annotations: {deployment.kubernetes.io/revision: "9"}, ` + ownedByWeb + `},
  status: {conditions: [{type: ReplicaFailure, status: "True", reason: Old, message: not the newest}]}}`
	newSet     = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-2, annotations: {deployment.kubernetes.io/revision: "10"}, ` + ownedByWeb + `}}`
	ownedByDB  = `ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: uid-of-db, controller: true}]`
	ownedByJob = `ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: uid-of-j, controller: true}]`
)

// created is the event of a controller that it has created something. Its time is that of the first warning of the tests.
func created(by, message string) string {
	return strings.Replace(warning(by, "SuccessfulCreate", message, "2026-01-01T00:00:00Z"), "Warning", "Normal", 1)
}

// whyCases has objects, and why the first of them is not healthy.
var whyCases = []struct{ name, objects, want string }{
	{"Deployment that was not observed", justMade, "Deployment web has no ReplicaSet: its controller has not created one"},
	{"Deployment whose change was not observed",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, generation: 2}, status: {observedGeneration: 1}}` + "\n---\n" + newSet,
		"Deployment generation is 2, but latest observed generation is 1"},
	{"Deployment that is paused",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {paused: true}}`,
		"Replicas: 0/1; paused: spec.paused is true"},
	{"quota", justMade + "\n---\n" + oldSet + "\n---\n" + `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: web-2, annotations: {deployment.kubernetes.io/revision: "10"}, ` + ownedByWeb + `}
status: {conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: "pods \"web-2-a\" is forbidden: exceeded quota: few"}]}`,
		`ReplicaSet web-2: FailedCreate: pods "web-2-a" is forbidden: exceeded quota: few`},
	{"ReplicaSet without Pods", newSet, "ReplicaSet web-2 has no Pod: its controller has not created one"},
	{"Pods are refused after one was created in the same second", newSet + "\n---\n" + warning("web-2", "FailedCreate", "webhook says no", "2026-01-01T00:00:00Z") +
		"\n---\n" + created("web-2", "Created pod: web-2-a"),
		"FailedCreate: webhook says no"},
	{"ReplicaSet of which only a claim was created", newSet + "\n---\n" + created("web-2", "create Claim data-web-0 Pod web-0 in StatefulSet web success"),
		"ReplicaSet web-2 has no Pod: its controller has not created one"},
	{"ReplicaSet whose Pods are refused", newSet + "\n---\n" + warning("web-2", "FailedCreate", "webhook says no", "2026-01-01T00:00:00Z"),
		"FailedCreate: webhook says no"},
	{"unschedulable", justMade + "\n---\n" + newSet + "\n---\n" + `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web-2-a, ` + ownedBySet + `}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}]}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: other}, status: {phase: Failed}}`,
		"Pod web-2-a: unschedulable: 0/3 nodes are available: 3 Insufficient cpu."},
	{"the clearest of three Pods", newSet + "\n---\n" + `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: a, ` + ownedBySet + `}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: b, ` + ownedBySet + `}
status:
  phase: Running
  containerStatuses:
  - name: app
    restartCount: 4
    state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s}}
    lastState: {terminated: {exitCode: 137, signal: 9, reason: OOMKilled}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: c, ` + ownedBySet + `}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: d, ` + ownedBySet + `}`,
		"Pod b: container app is waiting: CrashLoopBackOff: back-off 40s; exited with code 137, signal 9 (OOMKilled), restarted 4 times (and 2 other Pods)"},
	{"StatefulSet without storage", `
apiVersion: apps/v1
kind: StatefulSet
metadata: {namespace: shop, name: db}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: db-0, ` + ownedByDB + `}
spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: d-db-0}}]}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: d-db-0}}
---
` + warning("d-db-0", "ProvisioningFailed", `storageclass "fast" not found`, "2026-01-01T00:00:00Z"),
		`Pod db-0: not assigned to a node by a scheduler; PersistentVolumeClaim d-db-0: ProvisioningFailed: storageclass "fast" not found`},
	{"Job that has failed", `
apiVersion: batch/v1
kind: Job
metadata: {namespace: shop, name: j}
status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: j-a, ` + ownedByJob + `}
status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error, message: no database}}}]}`,
		"BackoffLimitExceeded: too often; Pod j-a: container main exited with code 1 (Error): no database"},
	{"Job whose Pods were deleted", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {failed: 1, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`,
		"BackoffLimitExceeded; its Pods were deleted, with their logs"},
	{"Job whose controller has deleted the Pods", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {failed: 1, conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}}` +
		"\n---\n" + strings.Replace(warning("j", "SuccessfulDelete", "Deleted pod: j-a", "2026-01-01T00:00:00Z"), "Warning", "Normal", 1),
		"DeadlineExceeded; its Pods were deleted, with their logs, by the Job controller"},
	{"Job with failed indexes", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {failedIndexes: "1,3-5", conditions: [{type: Failed, status: "True", reason: FailedIndexes, message: Job has failed indexes}]}}`,
		"FailedIndexes: Job has failed indexes; failed indexes: 1,3-5"},
	{"Job that has failed without a Pod", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}}`,
		"DeadlineExceeded"},
	{"Job whose Pod was deleted", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}, status: {failed: 1}}`,
		"Job j has no Pod: 1 Pod failed or was deleted; the Job controller creates the next one at most 10 s after that"},
	{"Job whose Pods were deleted one after another", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}, status: {failed: 3}}`,
		"Job j has no Pod: 3 Pods failed or were deleted; the Job controller creates the next one at most 40 s after the last of them"},
	{"Job that many Pods have failed of", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 60}, status: {failed: 50}}`,
		"Job j has no Pod: 50 Pods failed or were deleted; the Job controller creates the next one at most 10 min after the last of them"},
	{"Job of which a Pod has succeeded", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, completions: 3, backoffLimit: 6}, status: {failed: 2, succeeded: 1}}`,
		"Job j has no Pod: 2 Pods failed or were deleted; the Job controller creates the next one at most 20 s after the last of them"},
	{"Job whose deleted Pod does not count", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}}` +
		"\n---\n" + warning("j", "FailedCreate", "webhook says no", "2026-01-01T00:00:00Z") +
		"\n---\n" + strings.Replace(warning("j", "SuccessfulCreate", "Created pod: j-a", "2026-01-02T00:00:00Z"), "Warning", "Normal", 1),
		"Job j has no Pod: its Pods failed or were deleted; the Job controller creates the next one at most 10 min after the last of them"},
	{"Job whose next Pod is refused", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}, status: {failed: 1}}` +
		"\n---\n" + strings.Replace(warning("j", "SuccessfulCreate", "Created pod: j-a", "2026-01-01T00:00:00Z"), "Warning", "Normal", 1) +
		"\n---\n" + warning("j", "FailedCreate", "webhook says no", "2026-01-02T00:00:00Z"),
		"FailedCreate: webhook says no"},
	{"Job whose failed Pod exists", `
{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}, status: {failed: 2}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: j-a, ` + ownedByJob + `}
status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error}}}]}`,
		"Pod j-a: container main exited with code 1 (Error); the Job controller creates the next Pod at most 20 s after the last failure"},
	{"Job whose next Pod exists", `
{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}, status: {failed: 1, active: 1}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: j-a, ` + ownedByJob + `}
status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error}}}]}`,
		"Pod j-a: container main exited with code 1 (Error)"},
	{"Job that was not observed", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, backoffLimit: 6}}`,
		"Job j has no Pod: its controller has not created one"},
	{"Job without parallelism", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 0, backoffLimit: 6}, status: {failed: 1}}`,
		"Job j has no Pod: spec.parallelism is 0, which pauses it until that is increased"},
	{"Job of another controller", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, managedBy: example.com/other}}`,
		"Job j has no Pod: the Job controller ignores it, as spec.managedBy names another controller: example.com/other"},
	{"Job of the Job controller", `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, spec: {parallelism: 1, managedBy: kubernetes.io/job-controller}}`,
		"Job j has no Pod: its controller has not created one"},
	{"ReplicaSet whose Pods were refused before", newSet + "\n---\n" + warning("web-2", "FailedCreate", "webhook says no", "2026-01-01T00:00:00Z") +
		"\n---\n" + strings.Replace(warning("web-2", "SuccessfulCreate", "Created pod: web-2-a", "2026-01-02T00:00:00Z"), "Warning", "Normal", 1),
		"ReplicaSet web-2 has no Pod: those that its controller has created were deleted"},
	{"claim for a volume that does not exist", requesting + "\n---\n" + warning("c", "FailedBinding", "volume \"v\" already bound to a different claim.", "2026-01-01T00:00:00Z"),
		"its volume v (spec.volumeName) does not exist"},
	{"claim for a volume of another claim", requesting + "\n---\n" +
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {namespace: shop, name: d, uid: uid-of-d}}, status: {phase: Bound}}` +
		"\n---\n" + `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: d}}`,
		"its volume v (spec.volumeName) is bound to another claim, PersistentVolumeClaim shop/d"},
	{"claim for a volume of the deleted claim of its name", requesting + "\n---\n" +
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {namespace: shop, name: c, uid: uid-of-former-c}}, status: {phase: Released}}` +
		"\n---\n" + warning("c", "FailedBinding", "volume \"v\" already bound to a different claim.", "2026-01-01T00:00:00Z"),
		"its volume v (spec.volumeName) is Released: the PersistentVolumeClaim shop/c that it was bound to was deleted, and no claim can use it until its spec.claimRef is removed"},
	{"claim for a volume that waits for it", requesting + "\n---\n" +
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {namespace: shop, name: c}}, status: {phase: Available}}` +
		"\n---\n" + warning("c", "VolumeMismatch", "too small", "2026-01-01T00:00:00Z"),
		"VolumeMismatch: too small"},
	{"namespace that waits for its spec.finalizers", `
apiVersion: v1
kind: Namespace
metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec: {finalizers: [example.com/tenant]}
status:
  conditions:
  - {type: NamespaceContentRemaining, status: "False", message: All content successfully removed}`,
		"being deleted; waiting for example.com/tenant in spec.finalizers"},
	{"namespace that waits for both kinds of finalizers", `
apiVersion: v1
kind: Namespace
metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/own]}
spec: {finalizers: [kubernetes, example.com/tenant, example.com/b]}
status:
  conditions:
  - {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: widgets.example.com has 1 resource instances"}`,
		"being deleted; waiting for finalizer example.com/own; waiting for example.com/tenant, example.com/b in spec.finalizers; Some resources are remaining: widgets.example.com has 1 resource instances"},
	{"namespace whose content is not reported yet", `{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {finalizers: [kubernetes, example.com/tenant]}}`,
		"being deleted; waiting for example.com/tenant in spec.finalizers; the namespace controller has not reported the remaining content yet"},
	{"Pod on a node that does not exist", `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {nodeName: ghost}}`,
		"its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod"},
	{"Pod whose node was deleted", strings.Replace(containers(`phase: Running`, `{name: app, ready: false, state: {running: {}}}`), "n1", "ghost", 1),
		"container app is running but not ready; its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod"},
	{"Pod that is being deleted and whose node was deleted", `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: ghost}}`,
		"being deleted; its node ghost does not exist: pod-garbage-collector-controller is going to delete the Pod"},
	{"Job that is suspended",
		`{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {conditions: [{type: Suspended, status: "True"}]}}`,
		"suspended: spec.suspend is true"},
	{"Pod that was evicted", failedPod, "Evicted: The node was low on memory."},
	{"Pod that has exceeded its deadline", containers(`phase: Failed, reason: DeadlineExceeded, message: Pod was active on the node longer than the specified deadline`,
		`{name: app, state: {terminated: {exitCode: 143, reason: Error}}}`),
		"DeadlineExceeded: Pod was active on the node longer than the specified deadline; container app exited with code 143 (Error)"},
	{"Pod that was evicted while its container ran", containers(`phase: Failed, reason: Evicted, message: The node was low on memory.`,
		`{name: app, state: {terminated: {exitCode: 137, reason: Error}}}`),
		"Evicted: The node was low on memory; container app exited with code 137 (Error)"},
	{"Pod that was ended while its image was missing", containers(`phase: Failed, reason: DeadlineExceeded, message: too late`,
		`{name: app, state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image x}}}`),
		"DeadlineExceeded: too late; container app is waiting: ImagePullBackOff: Back-off pulling image x"},
	{"Pod that was ended before it started", containers(`phase: Failed, reason: NodeShutdown, message: Pod was rejected as the node is shutting down`,
		`{name: app, state: {waiting: {reason: ContainerCreating}}}`),
		"NodeShutdown: Pod was rejected as the node is shutting down"},
	{"Pod that was ended before its container started", containers(`phase: Failed, reason: DeadlineExceeded, message: too late`,
		`{name: app, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown, message: The container could not be located}}}`),
		"DeadlineExceeded: too late"},
	{"Pod that has failed without a reason", containers(`phase: Failed`, `{name: app, state: {terminated: {exitCode: 2, reason: Error}}}`),
		"container app exited with code 2 (Error)"},
	{"Pod that is gated",
		`{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: Scheduling is blocked}]}}`,
		"SchedulingGated: Scheduling is blocked"},
	{"Pod without claim",
		`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {volumes: [{name: e}, {name: v, persistentVolumeClaim: {claimName: absent}}]}}`,
		"not assigned to a node by a scheduler; PersistentVolumeClaim absent does not exist"},
	{"Pod on a node without a kubelet", `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {nodeName: n1}}`,
		"the kubelet of node n1 has not started it"},
	{"image that cannot be pulled", containers(`phase: Pending`, `{name: app, state: {waiting: {reason: ImagePullBackOff, message: Back-off pulling image x}}}`),
		"container app is waiting: ImagePullBackOff: Back-off pulling image x"},
	{"volume that cannot be mounted", containers(`phase: Pending`, `{name: app, state: {waiting: {reason: ContainerCreating}}}`) +
		"\n---\n" + warning("p", "FailedMount", "the latest", "2026-01-02T00:00:00Z") +
		"\n---\n" + warning("p", "FailedScheduling", "an older one", "2026-01-01T00:00:00Z"),
		"container app is being created; last warning: FailedMount: the latest"},
	{"volume that cannot be mounted again", containers(`phase: Running`, `{name: app, state: {waiting: {reason: ContainerCreating}}, lastState: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}`) +
		"\n---\n" + warning("p", "FailedMount", "the latest", "2026-01-02T00:00:00Z"),
		"container app is being created; last warning: FailedMount: the latest"},
	{"container that was lost", containers(`phase: Running`, `{name: app, state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: ContainerStatusUnknown}}}`),
		"container app is running but not ready"},
	{"volume of an init container that cannot be mounted", initContainers(`{name: s, started: true, state: {running: {}}}, {name: i, state: {waiting: {reason: PodInitializing}}}, {name: j, state: {waiting: {reason: PodInitializing}}}`) +
		"\n---\n" + warning("p", "FailedMount", "the latest", "2026-01-02T00:00:00Z"),
		"container i is being created; last warning: FailedMount: the latest"},
	{"init container that runs", initContainers(`{name: i, started: true, state: {running: {}}}, {name: j, state: {waiting: {reason: PodInitializing}}}`),
		"init container i (1 of 2) is running"},
	{"last init container that runs", initContainers(`{name: i, state: {terminated: {exitCode: 0}}}, {name: j, started: true, state: {running: {}}}`),
		"init container j (2 of 2) is running"},
	{"sidecar whose startup probe fails", initContainers(`{name: s, started: false, state: {running: {}}}, {name: i, state: {waiting: {reason: PodInitializing}}}`) +
		"\n---\n" + warning("p", "Unhealthy", "Startup probe failed: 503", "2026-01-02T00:00:00Z"),
		"init container s (1 of 2) is running but not started; last warning: Unhealthy: Startup probe failed: 503"},
	{"init container between two runs", initContainers(`{name: i, state: {terminated: {exitCode: 0}}}, {name: j, state: {terminated: {exitCode: 1}}}`),
		"container j exited with code 1"},
	{"readiness probe", containers(`phase: Running`, `{name: app, ready: false, state: {running: {}}}`) +
		"\n---\n" + warning("p", "Unhealthy", "Readiness probe failed: 503", "2026-01-02T00:00:00Z"),
		"container app is running but not ready; last warning: Unhealthy: Readiness probe failed: 503"},
	{"readiness probe without output", containers(`phase: Running`, `{name: app, ready: false, state: {running: {}}}`) +
		"\n---\n" + warning("p", "Unhealthy", "Readiness probe failed: ", "2026-01-02T00:00:00Z"),
		"container app is running but not ready; last warning: Unhealthy: Readiness probe failed"},
	{"warning that the condition repeats",
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: shop, name: h}, status: {conditions: [{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: "unable to compute the replica count: no metrics"}]}}` +
			"\n---\n" + warning("h", "FailedGetResourceMetric", "no metrics", "2026-01-02T00:00:00Z"),
		"FailedGetResourceMetric: unable to compute the replica count: no metrics"},
	{"warning that sums up what the condition says",
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: shop, name: h}, status: {conditions: [{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: "the HPA was unable to compute the replica count: failed to get cpu utilization: no metrics"}]}}` +
			"\n---\n" + warning("h", "FailedGetResourceMetric", "failed to get cpu utilization: no metrics", "2026-01-02T00:00:00Z") +
			"\n---\n" + strings.Replace(warning("h", "FailedComputeMetricsReplicas", "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu utilization: no metrics", "2026-01-02T00:00:01Z"), "name: ", "name: z-", 1),
		"FailedGetResourceMetric: the HPA was unable to compute the replica count: failed to get cpu utilization: no metrics"},
	{"container that was restarted", containers(`phase: Running`, `{name: app, ready: false, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 2}}}`),
		"container app is not ready; exited with code 2, restarted once"},
	{"readiness gate", `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: p}
spec: {nodeName: n1, readinessGates: [{conditionType: example.com/open}]}
status: {phase: Running, containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`,
		"readiness gate example.com/open is not true"},
	{"pending claim", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: c}, status: {phase: Pending}}`,
		"PVC is not Bound. phase: Pending"},
	{"claim whose volume was provisioned",
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: c}, status: {phase: Pending}}` +
			"\n---\n" + warning("c", "ProvisioningFailed", "an older one", "2026-01-01T00:00:00Z") +
			"\n---\n" + strings.Replace(warning("c", "ProvisioningSucceeded", "Successfully provisioned volume pvc-1", "2026-01-02T00:00:00Z"), "Warning", "Normal", 1),
		"not bound yet"},
	{"load balancer", `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: s}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}` +
		"\n---\n" + warning("s", "SyncLoadBalancerFailed", "the cloud is full", "2026-01-01T00:00:00Z"),
		"no external address; last warning: SyncLoadBalancerFailed: the cloud is full"},
	{"namespace with remaining content", `
apiVersion: v1
kind: Namespace
metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}
status:
  conditions:
  - {type: NamespaceDeletionDiscoveryFailure, status: "False", message: All resources successfully discovered}
  - {type: NamespaceContentRemaining, status: "True", message: "Some resources are remaining: widgets.example.com has 1 resource instances"}
  - {type: NamespaceFinalizersRemaining, status: "True", message: "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"}`,
		"being deleted: Some resources are remaining: widgets.example.com has 1 resource instances; Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"},
	{"namespace that has just been deleted", `{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
		"being deleted; the namespace controller has not reported the remaining content yet"},
	{"finalizer", `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]}}`,
		"being deleted; waiting for finalizer a/b"},
	{"finalizer whose controller reports", `
apiVersion: example.com/v1
kind: Widget
metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]}
status: {conditions: [{type: Deleting, status: "True", reason: WaitingForWorkers, message: "* Workers:\n  * w-1"}]}`,
		"being deleted; waiting for finalizer a/b: WaitingForWorkers: * Workers: * w-1"},
	{"finalizer whose controller has begun", `
apiVersion: example.com/v1
kind: Widget
metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]}
status: {conditions: [{type: Deleting, status: "False", reason: NotDeleting}]}`,
		"being deleted; waiting for finalizer a/b"},
	{"object that is being deleted", `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
		"being deleted"},
	{"finalizers", `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b, c/d]}}`,
		"being deleted; waiting for finalizers a/b, c/d"},
	{"foreground deletion", `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: d, uid: d, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [foregroundDeletion]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  namespace: shop
  name: r
  deletionTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: d, controller: true, blockOwnerDeletion: true}]`,
		"being deleted; waiting for finalizer foregroundDeletion: ReplicaSet shop/r is being deleted; waiting for finalizer example.com/hold"},
	{"namespace with a finalizer and remaining content", `
apiVersion: v1
kind: Namespace
metadata: {name: shop, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/own]}
status:
  conditions:
  - {type: NamespaceFinalizersRemaining, status: "True", message: "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"}`,
		"being deleted; waiting for finalizer example.com/own; Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"},
	{"claim that Pods use", deletedClaim + "\n---\n" + claimUser("b", "nodeName: n1, volumes: [{name: e}, {name: v, persistentVolumeClaim: {claimName: c}}]") +
		"\n---\n" + claimUser("a", "nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]") +
		"\n---\n" + claimUser("unassigned", "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]") +
		"\n---\n" + claimUser("another", "nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]"),
		"being deleted; waiting for finalizer kubernetes.io/pvc-protection: Pod shop/a uses it (and 1 other Pod)"},
	{"claim of an ephemeral volume", strings.Replace(deletedClaim, "name: c,", "name: a-v, ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: u, controller: true}],", 1) + "\n---\n" +
		strings.Replace(claimUser("a", "nodeName: n1, volumes: [{name: v, ephemeral: {}}]"), "name: a}", "name: a, uid: u}", 1),
		"being deleted; waiting for finalizer kubernetes.io/pvc-protection: Pod shop/a uses it"},
	{"claim that has the name of an ephemeral volume's", strings.Replace(deletedClaim, "name: c,", "name: a-v,", 1) + "\n---\n" +
		strings.Replace(claimUser("a", "nodeName: n1, volumes: [{name: v, ephemeral: {}}]"), "name: a}", "name: a, uid: u}", 1),
		"being deleted; waiting for finalizer kubernetes.io/pvc-protection"},
	{"claim that a Pod uses that is being deleted", deletedClaim + "\n---\n" +
		strings.Replace(claimUser("a", "nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"), "name: a}", `name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}`, 1),
		"being deleted; waiting for finalizer kubernetes.io/pvc-protection: Pod shop/a is being deleted; the kubelet of its node has not stopped it"},
	{"claim that is not used any more", deletedClaim + "\n---\n" + claimUser("unassigned", "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"),
		"being deleted; waiting for finalizer kubernetes.io/pvc-protection"},
	{"claim that another controller holds", strings.Replace(deletedClaim, "kubernetes.io/pvc-protection", "a/b", 1) + "\n---\n" + claimUser("a", "nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"),
		"being deleted; waiting for finalizer a/b"},
	{"volume that is bound", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [kubernetes.io/pv-protection]},
  spec: {claimRef: {namespace: shop, name: c}}, status: {phase: Bound}}`,
		"being deleted; waiting for finalizer kubernetes.io/pv-protection: PersistentVolumeClaim shop/c is bound to it"},
	{"volume that was released", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/wait]},
  spec: {claimRef: {namespace: shop, name: c}}, status: {phase: Released}}`,
		"being deleted; waiting for finalizer example.com/wait"},
	{"Pod that is not stopped", `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {nodeName: n1}}`,
		"being deleted; the kubelet of its node has not stopped it"},
	{"CustomResourceDefinition", crd(`{type: NamesAccepted, status: "False", reason: ListKindConflict, message: '"WidgetList" is already in use'}`),
		`"WidgetList" is already in use`},
	{"CustomResourceDefinition that waits for its objects", deletedCRD("") + "\n---\n" + `
{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [a/b]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: store, name: w}}`,
		"being deleted; waiting for finalizer customresourcecleanup.apiextensions.k8s.io: Widget shop/w is being deleted; waiting for finalizer a/b (and 2 other Widgets)"},
	{"CustomResourceDefinition whose objects are protected", deletedCRD(`{type: Terminating, status: "True", reason: InstanceDeletionFailed, message: "could not issue all deletes: w is protected"}`) + "\n---\n" + widget,
		"being deleted; waiting for finalizer customresourcecleanup.apiextensions.k8s.io: Widget shop/w still exists; could not issue all deletes: w is protected"},
	{"CustomResourceDefinition without objects", deletedCRD(`{type: Terminating, status: "True", reason: InstanceDeletionInProgress, message: CustomResource deletion is in progress}`),
		"being deleted; waiting for finalizer customresourcecleanup.apiextensions.k8s.io"},
	{"APIService", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "False", reason: ServiceNotFound, message: no service}]}}`,
		"not available: ServiceNotFound: no service"},
}

// requesting is a claim that requests volume v.
const requesting = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: c}, spec: {volumeName: v}, status: {phase: Pending}}`

const deletedClaim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: c, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [kubernetes.io/pvc-protection]}}`

func claimUser(name, spec string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: " + name + "}, spec: {" + spec + "}, status: {phase: Running}}"
}

// containers is a Pod with one container in a state.
func containers(phase, state string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {nodeName: n1}, status: {" + phase + ", containerStatuses: [" + state + "]}}"
}

// initContainers is a Pod whose main container waits for its init containers, of which s is a sidecar.
func initContainers(states string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {nodeName: n1, initContainers: [{name: s, restartPolicy: Always}, {name: i}, {name: j}]}, " +
		"status: {phase: Pending, initContainerStatuses: [" + states + "], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}"
}

// warning is a warning event about the object with a name.
func warning(of, reason, message, at string) string {
	return `{apiVersion: v1, kind: Event, metadata: {namespace: shop, name: ` + of + "." + strings.ToLower(reason) + `}, type: Warning, ` +
		`involvedObject: {uid: uid-of-` + of + `}, reason: ` + reason + `, message: '` + message + `', lastTimestamp: "` + at + `"}`
}

func crd(condition string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
  spec: {group: example.com, names: {kind: Widget}}, status: {conditions: [` + condition + `]}}`
}

// deletedCRD is a CustomResourceDefinition that is being deleted, and has a condition.
func deletedCRD(condition string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: widgets.example.com, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [customresourcecleanup.apiextensions.k8s.io]},
  spec: {group: example.com, names: {kind: Widget, plural: widgets}, versions: [{name: v1alpha1, served: false}, {name: v1, served: true}]},
  status: {conditions: [` + condition + `]}}`
}

func TestWhy(t *testing.T) {
	for _, test := range whyCases {
		t.Run(test.name, func(t *testing.T) {
			docs := documents(test.objects)
			c := newCluster(t, docs...)
			if diff := cmp.Diff(test.want, c.Why(t.Context(), parseObject(t, docs[0]))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhyObjectIsMissing(t *testing.T) {
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	notServedState := State{Ref: wid, Status: NotFound, Message: notServedError(wid.GroupVersionKind).Error()}
	for _, test := range []struct {
		name    string
		state   State
		objects []string
		want    string
	}{
		{"no object", State{Ref: podP, Status: NotFound, Message: "does not exist"}, []string{namespace}, "does not exist"},
		{"no namespace", State{Ref: podP, Status: NotFound, Message: "does not exist"}, nil, "namespace shop does not exist"},
		{"no definition", notServedState, nil,
			"unknown kind Widget in example.com/v1: correct the name or install its CustomResourceDefinition"},
		{"definition that is not established", notServedState, []string{crd(`{type: NamesAccepted, status: "False", message: taken}`)},
			"CustomResourceDefinition widgets.example.com: taken"},
		{"another version", notServedState, []string{crd(`{type: Established, status: "True"}`)},
			"CustomResourceDefinition widgets.example.com does not serve version v1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := newCluster(t, test.objects...).newSearch(t.Context(), searchOptions{}, nil).explainState(&trackedObject{State: test.state}, false).Reason
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWhyCannotListObjects(t *testing.T) {
	c := newCluster(t, deletedCRD(""))
	c.objects.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no conversion")
	})
	got := c.Why(t.Context(), parseObject(t, deletedCRD("")))
	want := "being deleted; waiting for finalizer customresourcecleanup.apiextensions.k8s.io; no further details: list widgets: no conversion"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhyWithoutPermission(t *testing.T) {
	c := newCluster(t, justMade)
	c.objects.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: a.GetResource().Resource}, "", errors.New("no rule\nallows it"))
	})
	got := c.Why(t.Context(), parseObject(t, justMade))
	want := `Replicas: 0/2; no further details: list replicasets: replicasets is forbidden: no rule allows it`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// With the reason of a Deployment comes the log that may say more and the node of the Pod, or the ReplicaSet whose controller fails.
func TestWhyNamesWhatSaysMore(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, uid: uid-of-web}}`
	const set = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: web-2, ` + ownedByWeb
	pod := func(containers, status string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web-2-a, ` + ownedBySet + `}
spec: {nodeName: node-1, containers: [` + containers + `]}
status: {phase: Running, containerStatuses: [{name: app, ` + status + `}]}`
	}
	const crashed = "lastState: {terminated: {exitCode: 3}}"
	for name, test := range map[string]struct {
		objects string
		log     ContainerLog
		failing string
		node    string
	}{
		"waits":       {newSet + "\n---\n" + pod("{name: app}", "state: {waiting: {reason: CrashLoopBackOff}}, "+crashed), ContainerLog{"shop", "web-2-a", "", true}, "", "node-1"},
		"runs again":  {newSet + "\n---\n" + pod("{name: app}, {name: b}", "state: {running: {}}, "+crashed), ContainerLog{"shop", "web-2-a", "app", true}, "", "node-1"},
		"has ended":   {newSet + "\n---\n" + pod("{name: app}", "state: {terminated: {exitCode: 3}}"), ContainerLog{"shop", "web-2-a", "", false}, "", "node-1"},
		"initializes": {newSet + "\n---\n" + strings.ReplaceAll(pod("{name: app}", "started: true, state: {running: {}}"), "containerStatuses", "initContainerStatuses"), ContainerLog{"shop", "web-2-a", "app", false}, "", "node-1"},
		"no image":    {newSet + "\n---\n" + pod("{name: app}", "state: {waiting: {reason: ImagePullBackOff}}"), ContainerLog{}, "", "node-1"},
		"is stopping": {newSet + "\n---\n" + strings.Replace(pod("{name: app}", "state: {running: {}}"), "metadata: {", `metadata: {deletionTimestamp: "2026-01-02T03:04:05Z", `, 1), ContainerLog{}, "", "node-1"},
		"no Pod":      {set + "}\nstatus: {conditions: [{type: ReplicaFailure, status: \"True\", message: quota}]}", ContainerLog{}, "web-2", ""},
	} {
		u := parseObject(t, deployment)
		state := State{Ref: RefOf(u), Status: InProgress}
		got := newCluster(t, documents(test.objects)...).newSearch(t.Context(), searchOptions{}, nil).explainState(&trackedObject{State: state, object: u}, false)
		var log ContainerLog
		if got.Log != nil {
			log = *got.Log
		}
		if log != test.log || got.Failing.Name != test.failing || got.Node != test.node {
			t.Errorf("%s: got the log %+v, the failing %q and the node %q of %q", name, log, got.Failing.Name, got.Node, got.Reason)
		}
	}
}

// With the reason of a Node or a Pod comes the node, with that of an owner which is being deleted the node of the Pod that it waits for.
func TestWhyNamesTheNode(t *testing.T) {
	const deleted = `deletionTimestamp: "2026-01-02T03:04:05Z"`
	const set = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-2, uid: uid-of-web-2, finalizers: [foregroundDeletion], ` + deleted + `}}`
	const held = `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: a, ` + deleted + `, ownerReferences: [{kind: ReplicaSet, name: web-2, uid: uid-of-web-2, controller: true, blockOwnerDeletion: true}]}, spec: {nodeName: node-1}}`
	for name, u := range map[string]string{
		"Node":           `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: Unknown}]}}`,
		"deleted Node":   `{apiVersion: v1, kind: Node, metadata: {name: node-1, finalizers: [a/b], ` + deleted + `}}`,
		"Pod":            `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: a}, spec: {nodeName: node-1}}`,
		"deleted Pod":    held,
		"waiting for it": set,
	} {
		u := parseObject(t, u)
		got := newCluster(t, held).newSearch(t.Context(), searchOptions{}, nil).explainState(&trackedObject{State: StateOf(u), object: u}, false)
		if got.Node != "node-1" {
			t.Errorf("%s: got the node %q of %q", name, got.Node, got.Reason)
		}
	}
}

// A Node or a Pod that is healthy comes with its node, which may have been failed just now.
func TestExamineNamesTheNode(t *testing.T) {
	for kind, object := range map[string]string{
		"Node": `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: "True"}]}}`,
		"Pod":  strings.Replace(runningPod, "status:", "spec: {nodeName: node-1}\nstatus:", 1),
	} {
		u := parseObject(t, object)
		got, err := newCluster(t, object).Examine(t.Context(), kind, u.GetNamespace(), u.GetName())
		if err != nil || got.Status != Current || got.Node != "node-1" {
			t.Errorf("%s: got %s on the node %q, %v", kind, got.Status, got.Node, err)
		}
	}
}
