package container

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestBlockedUntilObjectsExist(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "cat /v/*; echo $A")
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: new(int32(0o600))}}}}
	f.start(pod)
	f.await(pod, Blocked)
	if got := <-f.events; got != `FailedMount: MountVolume.SetUp failed for volume "v" : secret "s" not found` {
		t.Error(got)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"f": []byte("secret ")}}
	if _, err := f.client.CoreV1().Secrets("ns").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-f.events; got != `Failed: Error: configmap "m" not found` {
		t.Error(got)
	}
	if state := f.await(pod, Blocked); state.Reason != "CreateContainerConfigError" || state.Message != `configmap "m" not found` {
		t.Errorf("got %+v", state)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "value"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(pod, Ended)
	if got := f.logOf(pod); got != "secret value\n" {
		t.Errorf("log: %q", got)
	}
}

// TestBlockedWhileAnotherStarts starts a container of a Pod while another is being prepared,
// or is blocked.
func TestBlockedWhileAnotherStarts(t *testing.T) {
	f := newFixture(t)
	run := func(pod *corev1.Pod, c *corev1.Container) { f.Run(Spec{Pod: pod, Container: c, Args: c.Command}) }
	pod := newPod("echo", "$(A)")
	waits := &pod.Spec.Containers[0]
	waits.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"}}}}
	sleeps := corev1.Container{Name: "s", Image: "busybox", Command: []string{"sleep", "infinity"}}
	pod.Spec.Containers = append(pod.Spec.Containers, sleeps)
	run(pod, waits)
	f.await(pod, Blocked)
	run(pod, &sleeps)
	f.awaitContainer(pod, "s", Running)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "value"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(pod, Ended)

	for i := range 200 { // each has two events, which the fixture keeps
		pod := newPod()
		pod.UID = types.UID(fmt.Sprint(i))
		invalid := &pod.Spec.Containers[0]
		invalid.Image = "x y"
		pod.Spec.Containers = append(pod.Spec.Containers, sleeps)
		run(pod, invalid)
		run(pod, &sleeps)
		f.await(pod, Blocked)
		f.Remove(pod.UID)
	}
}

// TestBlockedByTheNameOfTheImage corrects the image, also of a container without a command.
func TestBlockedByTheNameOfTheImage(t *testing.T) {
	for name, command := range map[string][]string{"command": {"echo", "hi"}, "no command": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod(command...)
			pod.Spec.Containers[0].Image = "busybox latest"
			f.start(pod)
			const message = `Failed to apply default image tag "busybox latest": couldn't parse image name "busybox latest": invalid reference format`
			if state := f.await(pod, Blocked); state.Reason != "InvalidImageName" || state.Message != message {
				t.Errorf("got %+v", state)
			}
			for _, want := range []string{"InspectFailed: " + message, "Failed: Error: InvalidImageName"} {
				if got := <-f.events; got != want {
					t.Errorf("event %q, want %q", got, want)
				}
			}
			pod = pod.DeepCopy()
			pod.Spec.Containers[0].Image = "busybox:latest"
			f.start(pod)
			if command == nil {
				f.await(pod, Running)
			} else if f.await(pod, Ended); f.logOf(pod) != "hi\n" {
				t.Errorf("log: %q", f.logOf(pod))
			}
		})
	}
}

// TestBlockedByItsUser has a container that must not run as root, and a Pod that runs as root.
func TestBlockedByItsUser(t *testing.T) {
	f := newFixture(t)
	pod := newPod("id")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
	f.start(pod)
	const message = `container's runAsUser breaks non-root policy (pod: "p_ns(u)", container: c)`
	if state := f.await(pod, Blocked); state.Reason != "CreateContainerConfigError" || state.Message != message {
		t.Errorf("got %+v", state)
	}
	if got := <-f.events; got != "Failed: Error: "+message {
		t.Errorf("event %q", got)
	}
}

// TestStartsWithAnUnknownUser has a container that must not run as root. The user of its image, which decides, is not known.
func TestStartsWithAnUnknownUser(t *testing.T) {
	f := newFixture(t)
	pod := newPod("id", "-u")
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
	f.start(pod)
	if f.await(pod, Ended); f.logOf(pod) != "0\n" {
		t.Errorf("log %q", f.logOf(pod))
	}
}

// TestBlockedUntilVolumesExist has no watch that tells that the volume exists.
func TestBlockedUntilVolumesExist(t *testing.T) {
	claim := newClaim("claim")
	claim.Status.Phase = corev1.ClaimPending
	f := newFixture(t, claim, newVolume())
	pod := newPod("sh", "-c", "cat /ca/ca.crt; ls /claim")
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{{Name: "ca", MountPath: "/ca"}, {Name: "claim", MountPath: "/claim"}}
	ca := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "ca", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{ca}}}},
		{Name: "claim", VolumeSource: claimSource("claim")},
	}
	f.start(pod)
	if state := f.await(pod, Blocked); state.Mounted || state.Reason != "" {
		t.Errorf("got %+v", state)
	}
	if got := <-f.events; got != `FailedMount: MountVolume.SetUp failed for volume "ca" : configmap "kube-root-ca.crt" not found` {
		t.Error(got)
	}
	root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": "root\n"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), root, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err := f.client.CoreV1().PersistentVolumeClaims("ns").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "root\n" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

// TestAddressOfAPodThatWaits has a Pod that reports no address while it waits for a volume: its container knows it.
func TestAddressOfAPodThatWaits(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "echo $IP; grep 10.1 /etc/hosts")
	pod.Status.PodIP, pod.Status.PodIPs = "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: new(int32(0o600))}}}}
	f.start(pod)
	f.await(pod, Blocked)
	reported := pod.DeepCopy()
	reported.Status = corev1.PodStatus{}
	f.Update(reported)
	if _, err := f.client.CoreV1().Secrets("ns").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(pod, Ended)
	if got := f.logOf(pod); got != "10.1.2.3\n10.1.2.3\tp\n" {
		t.Errorf("log: %q", got)
	}
}

// TestMountedVolumesStay deletes the objects of the volumes of a Pod: as on a real node, its containers restart,
// and later ones start, with what was mounted.
func TestMountedVolumesStay(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"f": []byte("secret\n")}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"f": "settings\n"}}
	for name, command := range map[string][]string{"command": {"cat", "/v/f"}, "no command": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, secret, settings)
			pod := newPod(command...)
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "later", Image: "busybox", Command: command})
			mode := new(int32(0o600))
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: mode}}},
				{Name: "w", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: mode}}},
			}
			phase := Running
			if command != nil {
				phase = Ended
			}
			check := func(i int, number int32, want string) {
				t.Helper()
				c := &pod.Spec.Containers[i]
				f.Run(Spec{Pod: pod, Container: c, Number: number, Args: c.Command})
				f.awaitRun(pod, c.Name, number, phase)
				if log := f.Log(pod.UID, c.Name, number); log != nil && log.tail(10, 1<<10) != want {
					t.Errorf("run %d of %s: %q", number, c.Name, log.tail(10, 1<<10))
				}
			}
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
			pod.Spec.Containers[1].VolumeMounts = []corev1.VolumeMount{{Name: "w", MountPath: "/v"}}
			check(0, 0, "secret\n")
			if err := f.client.CoreV1().Secrets("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := f.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if command != nil {
				f.awaitEvent(t, `FailedMount: MountVolume.SetUp failed for volume "v" : secret "s" not found`)
			}
			check(0, 1, "secret\n")
			check(1, 0, "settings\n")
		})
	}
}
