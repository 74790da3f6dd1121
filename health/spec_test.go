package health

import (
	"strings"
	"testing"
)

// What an object waits for may be a field of its own spec.
func TestWhyNamesFieldOfSpec(t *testing.T) {
	const ofSet = `ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: uid-of-d, controller: true}]`
	daemonSet := func(strategy, status string) string {
		return `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: shop, name: d, generation: 2}, spec: {minReadySeconds: 0, updateStrategy: {type: ` + strategy + `}},
  status: {observedGeneration: 2, desiredNumberScheduled: 3, currentNumberScheduled: 3, ` + status + `}}`
	}
	const ready = "\n---\n" + `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: d-b, ` + ofSet + `}, spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
	const crashing = "\n---\n" + `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: d-a, ` + ofSet + `}, spec: {nodeName: n1},
  status: {phase: Running, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff}}}]}}`
	for name, test := range map[string]struct{ objects, want string }{
		"OnDelete": {daemonSet("OnDelete", "numberAvailable: 3, numberReady: 3") + ready, "Updated: 0/3; delete its Pods to update them (spec.updateStrategy is OnDelete)"},
		"OnDelete and a Pod that is not ready": {daemonSet("OnDelete", "numberAvailable: 2, numberReady: 2, updatedNumberScheduled: 1") + crashing,
			"Pod d-a: container app is waiting: ImagePullBackOff; delete its Pods to update them (spec.updateStrategy is OnDelete)"},
		"OnDelete of the current template": {daemonSet("OnDelete", "numberAvailable: 2, numberReady: 2, updatedNumberScheduled: 3") + crashing,
			"Pod d-a: container app is waiting: ImagePullBackOff"},
		"a rolling update": {daemonSet("RollingUpdate", "numberAvailable: 3, numberReady: 3") + ready, "Updated: 0/3"},
		"minReadySeconds of a DaemonSet": {strings.Replace(daemonSet("RollingUpdate", "numberReady: 3, numberAvailable: 1, updatedNumberScheduled: 3"), "minReadySeconds: 0", "minReadySeconds: 60", 1) + ready,
			"Available: 1/3; Ready for less than 60 s: 2 Pods (spec.minReadySeconds)"},
		"minReadySeconds of a Deployment": {`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, generation: 1}, spec: {replicas: 1, minReadySeconds: 60},
  status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1}}` + "\n---\n" +
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: web-2, annotations: {deployment.kubernetes.io/revision: "10"}, ` + ownedByWeb + `},
  spec: {replicas: 1, minReadySeconds: 60}, status: {replicas: 1, readyReplicas: 1}}` + "\n---\n" +
			`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web-2-a, ` + ownedBySet + `}, spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			"Available: 0/1; Ready for less than 60 s: 1 Pod (spec.minReadySeconds)"},
		"minReadySeconds of a StatefulSet": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: shop, name: db, generation: 1}, spec: {replicas: 2, minReadySeconds: 60},
  status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 0}}` + "\n---\n" +
			`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: db-0, ` + ownedByDB + `}, spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			"Replicas: 1/2; Ready for less than 60 s: 1 Pod (spec.minReadySeconds)"},
		"class of a load balancer": {`{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: s}, spec: {type: LoadBalancer, loadBalancerClass: x.io/none, clusterIP: 10.0.0.1}}`,
			"no external address; only a controller of class x.io/none gives it one (spec.loadBalancerClass)"},
		"another scheduler": {`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {schedulerName: my-sched}, status: {phase: Pending}}`,
			"not assigned to a node by scheduler my-sched (spec.schedulerName)"},
		"the default scheduler": {`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {schedulerName: default-scheduler}, status: {phase: Pending}}`,
			"not assigned to a node by a scheduler"},
	} {
		docs := documents(test.objects)
		if got := newCluster(t, docs...).Why(t.Context(), parseObject(t, docs[0])); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}
