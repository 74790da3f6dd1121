package nodes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestUnhealthyContainer has a command that exits with 0 when its probe has failed: only a
// policy Never keeps it from restarting, as with a kubelet.
func TestUnhealthyContainer(t *testing.T) {
	never, onFailure := corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure
	for name, test := range map[string]struct {
		policy      corev1.RestartPolicy
		ofContainer *corev1.ContainerRestartPolicy
		startup     bool
		want        string
	}{
		"on failure":                  {policy: corev1.RestartPolicyOnFailure, want: "Running, ready, a: runs #1"},
		"on failure, startup probe":   {policy: corev1.RestartPolicyOnFailure, startup: true, want: "Running, a: runs #1"},
		"never":                       {policy: corev1.RestartPolicyNever, want: "Succeeded, a: exit 0"},
		"on failure of the container": {policy: corev1.RestartPolicyNever, ofContainer: &onFailure, want: "Running, ready, a: runs #1"},
		"never of the container":      {policy: corev1.RestartPolicyAlways, ofContainer: &never, want: "Succeeded, a: exit 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, changed := commandsFixture(t)
			at.backoffs = &restartBackoffs{}
			begins := "Running, ready, a: runs"
			pod := testPod(func(p *corev1.Pod) {
				p.Spec.RestartPolicy = test.policy
				c := &p.Spec.Containers[0]
				c.RestartPolicy = test.ofContainer
				c.Command = []string{"sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done"}
				probe := &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 20, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"test", "!", "-e", "/tmp/go"}},
				}}
				if c.LivenessProbe = probe; test.startup {
					probe.Exec.Command = []string{"sh", "-c", untilGo + "; false"}
					c.LivenessProbe, c.StartupProbe = nil, probe
					begins = "Running, a: runs"
				}
			})
			play(t, pod, at, changed, time.Now, begins)
			awaitUp(t, pod, at, "a")
			touch(t, pod, at, "/tmp/go")
			for _, line := range play(t, pod, at, changed, time.Now, test.want) {
				if strings.Contains(test.want, "#1") && strings.Contains(line, "exit") {
					t.Errorf("%q is final", line)
				}
			}
			if s := pod.Status.ContainerStatuses[0]; s.RestartCount > 0 && s.LastTerminationState.Terminated.ExitCode != 0 {
				t.Errorf("last state: %+v", s.LastTerminationState.Terminated)
			}
		})
	}
}
