package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodBehaviorErrors(t *testing.T) {
	for _, c := range []struct{ annotation, value, want string }{
		{exitCodeAnnotation, "0", ""},
		{exitCodeAnnotation, "a=1, i=2", ""},
		{exitCodeAnnotation, "256", `annotation ctrlplane/exit-code: "256" is no exit code: write a number from 0 to 255`},
		{exitCodeAnnotation, "b=1", `annotation ctrlplane/exit-code: the pod has no container "b"`},
		{exitCodeAnnotation, "a=x", `annotation ctrlplane/exit-code: "x" is no exit code: write a number from 0 to 255`},
		{failuresAnnotation, "-1", `annotation ctrlplane/failures: "-1" is no count: write a number from 0`},
		{runForAnnotation, "5", `annotation ctrlplane/run-for: "5" is no duration: write it like 5s or 1m30s`},
		{readyAfterAnnotation, "-5s", `annotation ctrlplane/ready-after: "-5s" is no duration: write it like 5s or 1m30s`},
		{stopAfterAnnotation, "soon", `annotation ctrlplane/stop-after: "soon" is no duration: write it like 5s or 1m30s`},
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
