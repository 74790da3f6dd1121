package metricsapi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func formatContainers(t *testing.T, pod *corev1.Pod) []string {
	t.Helper()
	list, err := containerMetrics(pod)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s %s", c.Name, formatUsage(c.Usage)))
	}
	return lines
}

func TestContainerMetrics(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"a tenth of the request, or idle": {func(*corev1.Pod) {}, []string{"app 20m 13107Ki", "proxy 5m 32Mi"}},
		"tiny requests": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = quantities("1m", "1")
		}, []string{"app 1m 1Ki", "proxy 5m 32Mi"}},
		"requests of nothing": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = quantities("0", "0")
		}, []string{"app 5m 32Mi", "proxy 5m 32Mi"}},
		"each container": {withAnnotation(annotations.UsageCPU, "250m"), []string{"app 250m 13107Ki", "proxy 250m 32Mi"}},
		"one container":  {withAnnotation(annotations.UsageMemory, "proxy=1Gi"), []string{"app 20m 13107Ki", "proxy 5m 1Gi"}},
		"some of them":   {withAnnotation(annotations.UsageCPU, "proxy=2, app=0"), []string{"app 0 13107Ki", "proxy 2 32Mi"}},
		"a container that has ended": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, []string{"proxy 5m 32Mi"}},
		"a sidecar": {func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Resources.Requests = quantities("1", "1Gi")
			p.Status.InitContainerStatuses[0].State = running
		}, []string{"init 100m 104857Ki", "app 20m 13107Ki", "proxy 5m 32Mi"}},
		"an ephemeral container": {func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
			p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug", State: running}}
			withAnnotation(annotations.UsageCPU, "debug=7m")(p)
		}, []string{"app 20m 13107Ki", "proxy 5m 32Mi", "debug 7m 32Mi"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, formatContainers(t, newPod("ns", "p", "n", tc.change))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCheckAnnotations(t *testing.T) {
	for _, tc := range []struct{ annotation, value, want string }{
		{annotations.UsageCPU, "250m", ""},
		{annotations.UsageCPU, "app=1,proxy=2,init=3", ""},
		{annotations.UsageCPU, "", `annotation kwok.x-k8s.io/usage-cpu: "" is not a quantity: write it like 250m, or CONTAINER=250m,…`},
		{annotations.UsageCPU, "much", `annotation kwok.x-k8s.io/usage-cpu: "much" is not a quantity: write it like 250m, or CONTAINER=250m,…`},
		{annotations.UsageCPU, "250m,300m", `annotation kwok.x-k8s.io/usage-cpu: "250m,300m" is not a quantity: write it like 250m, or CONTAINER=250m,…`},
		{annotations.UsageCPU, "-1", `annotation kwok.x-k8s.io/usage-cpu: "-1" is negative`},
		{annotations.UsageCPU, "1M", `annotation kwok.x-k8s.io/usage-cpu: "1M" is too large: at most 100k`},
		{annotations.UsageCPU, "app=1,app=2", `annotation kwok.x-k8s.io/usage-cpu: container "app" is listed twice`},
		{annotations.UsageCPU, "app=1,", `annotation kwok.x-k8s.io/usage-cpu: the pod has no container ""`},
		{annotations.UsageCPU, "=1", `annotation kwok.x-k8s.io/usage-cpu: the pod has no container ""`},
		{annotations.UsageMemory, "other=1Gi", `annotation kwok.x-k8s.io/usage-memory: the pod has no container "other"`},
		{annotations.UsageMemory, "app=", `annotation kwok.x-k8s.io/usage-memory: "" is not a quantity: write it like 64Mi, or CONTAINER=64Mi,…`},
		{annotations.UsageMemory, "2Pi", `annotation kwok.x-k8s.io/usage-memory: "2Pi" is too large: at most 1Pi`},
	} {
		got := ""
		if err := CheckAnnotations(newPod("ns", "p", "n", withAnnotation(tc.annotation, tc.value))); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s=%q: got %q, want %q", tc.annotation, tc.value, got, tc.want)
		}
	}
}

// Both annotations are reported, on one line.
func TestCheckReportsBothAnnotations(t *testing.T) {
	err := CheckAnnotations(newPod("ns", "p", "n", withAnnotation(annotations.UsageCPU, "-1"), withAnnotation(annotations.UsageMemory, "-2")))
	want := `annotation kwok.x-k8s.io/usage-cpu: "-1" is negative; annotation kwok.x-k8s.io/usage-memory: "-2" is negative`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
