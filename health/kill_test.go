package health

import (
	"fmt"
	"testing"
)

const crashLoop = `restartCount: 2, state: {waiting: {reason: CrashLoopBackOff, message: back-off 20s}}, lastState: `

// The exit code of a container that the kubelet has stopped for a probe or a hook does not tell which.
func TestWhyKubeletStopsContainer(t *testing.T) {
	const (
		before, start, later = "2026-01-01T23:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:04Z"
		waits                = "container app is waiting: CrashLoopBackOff: back-off 20s; "
		restarted            = ", restarted 2 times"
	)
	for name, test := range map[string]struct {
		state, end              string
		reason, warning, killed string
		of, at                  string
		want                    string
	}{
		"liveness probe": {crashLoop, "exitCode: 143, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container app failed liveness probe, will be restarted",
			"app", later, waits + "exited with code 143 (Error)" + restarted + "; last warning: Unhealthy: Liveness probe failed: 503"},
		"startup probe of a program that ends with 0": {crashLoop, "exitCode: 0, reason: Completed", "Unhealthy", "Startup probe failed: 503", "Container app failed startup probe, will be restarted",
			"app", later, waits + "exited with code 0 (Completed)" + restarted + "; last warning: Unhealthy: Startup probe failed: 503"},
		"postStart hook": {crashLoop, "exitCode: 143, reason: Error", "FailedPostStartHook", "PostStartHook failed", "FailedPostStartHook",
			"app", later, waits + "exited with code 143 (Error)" + restarted + "; last warning: FailedPostStartHook: PostStartHook failed"},
		"no restart": {"state: ", "exitCode: 143, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container app failed liveness probe",
			"app", later, "container app exited with code 143 (Error); last warning: Unhealthy: Liveness probe failed: 503"},
		"runs again": {"restartCount: 1, state: {running: {}}, lastState: ", "exitCode: 143, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container app failed liveness probe",
			"app", later, "container app is not ready; exited with code 143 (Error), restarted once; last warning: Unhealthy: Liveness probe failed: 503"},
		"the kubelet has dropped the later events": {crashLoop, "exitCode: 137, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container app failed liveness probe, will be restarted",
			"app", before, waits + "exited with code 137 (Error)" + restarted + "; last warning: Unhealthy: Liveness probe failed: 503"},
		"a crash after a failed probe": {crashLoop, "exitCode: 1, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container app failed liveness probe, will be restarted",
			"app", before, waits + "exited with code 1 (Error)" + restarted},
		"a crash of a container that was not ready": {crashLoop, "exitCode: 143, reason: Error", "Unhealthy", "Readiness probe failed: 503", "Stopping container app",
			"app", later, waits + "exited with code 143 (Error)" + restarted},
		"the probe of another container": {crashLoop, "exitCode: 143, reason: Error", "Unhealthy", "Liveness probe failed: 503", "Container other failed liveness probe",
			"other", later, waits + "exited with code 143 (Error)" + restarted},
		"the hook, which the status tells": {`restartCount: 2, state: {waiting: {reason: PostStartHookError, message: exit 9}}, lastState: `, "exitCode: 143, reason: Error", "FailedPostStartHook", "PostStartHook failed", "FailedPostStartHook",
			"app", later, "container app is waiting: PostStartHookError: exit 9; exited with code 143 (Error), restarted 2 times"},
	} {
		pod := containers("phase: Running", fmt.Sprintf("{name: app, %s{terminated: {%s, startedAt: %q}}}", test.state, test.end, start))
		c := newCluster(t, pod, containerEvent("Warning", test.of, test.reason, test.warning, test.at), containerEvent("Normal", test.of, "Killing", test.killed, test.at),
			containerEvent("Warning", test.of, "BackOff", "Back-off restarting failed container", later))
		if got := c.Why(t.Context(), parseObject(t, pod)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

// containerEvent is an event about a container of Pod p.
func containerEvent(of, container, reason, message, at string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {namespace: shop, name: p.%[2]s}, type: %[1]s, reason: %[2]s, message: %[3]q, lastTimestamp: %[4]q,
  involvedObject: {uid: uid-of-p, fieldPath: "spec.containers{%[5]s}"}}`, of, reason, message, at, container)
}
