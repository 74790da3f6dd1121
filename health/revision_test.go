package health

import (
	"fmt"
	"testing"
)

// A StatefulSet that waits for a Pod of an earlier revision does not replace it, not even after a rollback.
func TestWhyOldRevision(t *testing.T) {
	const (
		crashed = "container app is waiting: CrashLoopBackOff; exited with code 1, restarted 3 times"
		waits   = "; the Pod has an earlier revision, which StatefulSet db replaces only once the Pod is Ready: delete it"
		deletes = "; the Pod has an earlier revision, which StatefulSet db does not replace (OnDelete): delete it"
	)
	for name, test := range map[string]struct{ spec, hash, status, want string }{
		"ordered":                          {"podManagementPolicy: OrderedReady", "db-1", "phase: Running", crashed + waits},
		"current revision":                 {"podManagementPolicy: OrderedReady", "db-2", "phase: Running", crashed},
		"no revision":                      {"podManagementPolicy: OrderedReady", "", "phase: Running", crashed},
		"parallel":                         {"podManagementPolicy: Parallel", "db-1", "phase: Running", crashed},
		"OnDelete":                         {"podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}", "db-1", "phase: Running", crashed + deletes},
		"Recreate":                         {"podManagementPolicy: OrderedReady, updateStrategy: {type: Recreate}", "db-1", "phase: Running", crashed},
		"below a partition":                {"podManagementPolicy: OrderedReady, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}", "db-1", "phase: Running", crashed},
		"at a partition":                   {"podManagementPolicy: OrderedReady, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}", "db-1", "phase: Running", crashed + waits},
		"at a partition that begins later": {"ordinals: {start: 1}, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}", "db-1", "phase: Running", crashed},
		"replaced at once":                 {"podManagementPolicy: OrderedReady", "db-1", "phase: Failed", crashed},
	} {
		set := fmt.Sprintf(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: shop, name: db}, spec: {replicas: 2, %s}, status: {updateRevision: db-2}}`, test.spec)
		pod := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: db-1, labels: {apps.kubernetes.io/pod-index: "1", controller-revision-hash: %q}, `+ownedByDB+`},
  spec: {nodeName: n1}, status: {%s, containerStatuses: [{name: app, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}}]}}`, test.hash, test.status)
		c := newCluster(t, set, pod)
		for object, want := range map[string]string{pod: test.want, set: "Pod db-1: " + test.want} {
			if got := c.Why(t.Context(), parseObject(t, object)); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
			}
		}
	}
	orphan := `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: db-1, ` + ownedByDB + `}, spec: {nodeName: n1}, status: {phase: Pending}}`
	if got, want := newCluster(t, orphan).Why(t.Context(), parseObject(t, orphan)), "the kubelet of node n1 has not started it"; got != want {
		t.Errorf("without its StatefulSet: got %s", got)
	}
}
