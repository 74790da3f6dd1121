package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// needsSecret gives a container a volume of the Secret s.
func needsSecret(p *corev1.Pod, c *corev1.Container) {
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: new(int32(0o600))}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
}

// checkSandbox compares whether a Pod has an address, and a sandbox, with what it should have.
func checkSandbox(t *testing.T, pod *corev1.Pod, want bool) {
	t.Helper()
	_, ready := podutil.GetPodCondition(&pod.Status, corev1.PodReadyToStartContainers)
	if has := pod.Status.PodIP != "" && len(pod.Status.PodIPs) == 1; has != want || ready == nil || (ready.Status == corev1.ConditionTrue) != want {
		t.Errorf("%s: address %q, condition %+v", describePod(pod), pod.Status.PodIP, ready)
	}
}

// TestNoSandboxBeforeVolumesAreMounted has a Pod with a volume of a Secret that does not exist: as with a
// kubelet, it gets its address once it does.
func TestNoSandboxBeforeVolumesAreMounted(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(*corev1.Pod)
		waits, becomes string
	}{
		"a command": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = []string{"sleep", "infinity"}
			needsSecret(p, &p.Spec.Containers[0])
		}, "Pending, a: ContainerCreating", "Running, ready, a: runs"},
		"no command": {func(p *corev1.Pod) { needsSecret(p, &p.Spec.Containers[0]) }, "Pending, a: ContainerCreating", "Running, ready, a: runs"},
		"an init container": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox", Command: []string{"sleep", "infinity"}}}
			needsSecret(p, &p.Spec.InitContainers[0])
		}, "Pending, i: PodInitializing, a: PodInitializing", "Pending, i: runs, a: PodInitializing"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			at, changed := commandsFixtureWith(t, client)
			pod := testPod(c.change)
			play(t, pod, at, changed, time.Now, c.waits)
			checkSandbox(t, pod, false)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
			if _, err := client.CoreV1().Secrets("n").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			play(t, pod, at, changed, time.Now, c.becomes)
			checkSandbox(t, pod, true)
		})
	}
}

// TestSandboxOnTheHostNetwork has an address at once, but no sandbox before the volume is mounted.
func TestSandboxOnTheHostNetwork(t *testing.T) {
	client := fake.NewClientset()
	at, changed := commandsFixtureWith(t, client)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.HostNetwork = true
		needsSecret(p, &p.Spec.Containers[0])
	})
	const without = "ContainersReady=False ContainersNotReady, Initialized, PodReadyToStartContainers=False PodSandboxNotReady, PodScheduled, Ready=False ContainersNotReady"
	play(t, pod, at, changed, time.Now, "Pending, a: ContainerCreating")
	if got := conditionReasons(pod.Status); got != without || pod.Status.PodIP == "" {
		t.Errorf("address %q, conditions %s", pod.Status.PodIP, got)
	}
	if got := conditionReasons(terminatingStatus(pod, at.commands, time.Now())); got != without {
		t.Errorf("deleted: conditions %s", got)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	if _, err := client.CoreV1().Secrets("n").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	checkSandbox(t, pod, true)
	pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: "a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
	setConditions(pod, &pod.Status, epoch)
	checkSandbox(t, pod, true)
}

// TestSandboxOfAPodThatWaits has Pods that wait for something else than a volume, or while another container
// runs: they have an address.
func TestSandboxOfAPodThatWaits(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"Pending, a: CreateContainerConfigError": func(p *corev1.Pod) {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
		},
		"Pending, a: runs, b: ContainerCreating": func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Command: []string{"cat", "/v/file"}})
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
			p.Spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		},
	} {
		at, changed := commandsFixture(t)
		pod := testPod(change)
		play(t, pod, at, changed, time.Now, want)
		checkSandbox(t, pod, true)
	}
}

// TestPodThatEndsWithoutASandbox exceeds the deadline of a Pod that waits for a volume.
func TestPodThatEndsWithoutASandbox(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds = new(int64(3600))
		needsSecret(p, &p.Spec.Containers[0])
	})
	play(t, pod, at, changed, time.Now, "Pending, a: ContainerCreating")
	play(t, pod, at, changed, func() time.Time { return time.Now().Add(time.Hour) }, "Failed, DeadlineExceeded, a: exit 137")
	checkSandbox(t, pod, false)
}
