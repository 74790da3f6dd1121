package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestPodBehaviorErrors(t *testing.T) {
	for _, c := range []struct{ annotation, value, want string }{
		{annotations.ExitCode, "0", ""},
		{annotations.ExitCode, "a=1, i=2", ""},
		{annotations.ExitCode, "256", `annotation ctrlplane.local/exit-code: "256" is not an exit code: write a number from 0 to 255`},
		{annotations.ExitCode, "b=1", `annotation ctrlplane.local/exit-code: the pod has no container "b"`},
		{annotations.ExitCode, "a=x", `annotation ctrlplane.local/exit-code: "x" is not an exit code: write a number from 0 to 255`},
		{annotations.Failures, "-1", `annotation ctrlplane.local/failures: "-1" is not a count: write a number from 0`},
		{annotations.RunFor, "5", `annotation ctrlplane.local/run-for: "5" is not a duration: write it like 5s or 1m30s`},
		{annotations.ReadyAfter, "-5s", `annotation ctrlplane.local/ready-after: "-5s" is not a duration: write it like 5s or 1m30s`},
		{annotations.StopAfter, "soon", `annotation ctrlplane.local/stop-after: "soon" is not a duration: write it like 5s or 1m30s`},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "i"}},
			Containers:     []corev1.Container{{Name: "a"}},
		}}
		pod.Annotations = map[string]string{c.annotation: c.value}
		got := ""
		if _, err := podBehaviorOf(pod); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.annotation, c.value, got, c.want)
		}
	}
}
