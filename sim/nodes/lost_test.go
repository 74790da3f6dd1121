package nodes

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestContainersThatCannotStartAgain ends the simulation of a Pod, and deletes the ConfigMap that its container needs
// before another begins: until it exists again, the Pod must not look as if its command ran.
func TestContainersThatCannotStartAgain(t *testing.T) {
	mount := func(p *corev1.Pod, c *corev1.Container) {
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: new(int32(0o644))}}}}
	}
	command := []string{"sh", "-c", "echo up; sleep 1000"}
	for name, test := range map[string]struct {
		change        func(*corev1.Pod)
		runs, waiting string
	}{
		"volume": {
			func(p *corev1.Pod) { mount(p, &p.Spec.Containers[0]) },
			"Running, ready, a: runs", "Running, a: ContainerCreating",
		},
		"volume of a container without a command": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Command = nil; mount(p, &p.Spec.Containers[0]) },
			"Running, ready, a: runs", "Running, a: ContainerCreating",
		},
		"environment": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}}
			},
			"Running, ready, a: runs", "Running, a: CreateContainerConfigError",
		},
		"after a restart": {
			func(p *corev1.Pod) {
				mount(p, &p.Spec.Containers[0])
				ended := metav1.NewTime(time.Now())
				p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &ended
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "a", RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ended}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: ended, FinishedAt: ended}},
				}}
			},
			"Running, ready, a: runs #1", "Running, a: ContainerCreating #1",
		},
		"init container of a Pod that never restarts": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox", Command: command}}
				mount(p, &p.Spec.InitContainers[0])
			},
			"Pending, i: runs, a: PodInitializing", "Pending, i: PodInitializing, a: PodInitializing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "m"}, Data: map[string]string{"k": "v"}}
			client := fake.NewClientset(settings)
			pod := testPod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Command = command
				test.change(p)
			})
			at, changed := commandsFixtureWith(t, client)
			play(t, pod, at, changed, time.Now, test.runs)
			at.commands.runtime.Stop()
			if err := client.CoreV1().ConfigMaps("n").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			at, changed = commandsFixtureWith(t, client)
			play(t, pod, at, changed, time.Now, test.waiting)
			if _, err := client.CoreV1().ConfigMaps("n").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			play(t, pod, at, changed, time.Now, test.runs)
		})
	}
}

// TestContainerWithoutAnAnswer has a simulation that begins with a running container, and does not get what this needs at
// once: that does not mean that it is lost.
func TestContainerWithoutAnAnswer(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "m"}})
	var reads atomic.Int32
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return reads.Add(1) <= 3, nil, apierrors.NewTimeoutError("slow", 1)
	})
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.Containers[0].Command = []string{"sh", "-c", "exit 3"}
		p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}}
		began := metav1.NewTime(time.Now())
		p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &began
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}}}
	})
	at, changed := commandsFixtureWith(t, client)
	lines := play(t, pod, at, changed, time.Now, "Failed, a: exit 3")
	if slices.Contains(lines, "Running, a: CreateContainerConfigError") || reads.Load() <= 3 {
		t.Errorf("got %q", lines)
	}
}
