package nodes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestImageID(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for image, want := range map[string]string{
		"registry.k8s.io/pause:3.10@" + digest: "registry.k8s.io/pause@" + digest,
		"nginx@" + digest:                      "docker.io/library/nginx@" + digest,
	} {
		if got := imageID(image); got != want {
			t.Errorf("%s: got %s, want %s", image, got, want)
		}
	}
	name, hash, _ := strings.Cut(imageID("nginx"), "@sha256:")
	if name != "docker.io/library/nginx" || len(hash) != 64 || imageID("docker.io/library/nginx:latest") != imageID("nginx") || imageID("nginx:1.29") == imageID("nginx") {
		t.Errorf("nginx: %s %s", name, hash)
	}
}

// TestImageIDInStatus has no ID before the container was created.
func TestImageIDInStatus(t *testing.T) {
	pod := testPod(withSidecar)
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	if got, want := pod.Status.InitContainerStatuses[0].ImageID, imageID("nginx"); got != want || pod.Status.ContainerStatuses[0].ImageID != "" {
		t.Errorf("got %q and %q, want %q and none", got, pod.Status.ContainerStatuses[0].ImageID, want)
	}
	timeline(pod, testPlacement, 9)
	pod.Spec.Containers[0].Image = "nginx:2"
	timeline(pod, testPlacement, 9)
	if got, want := pod.Status.ContainerStatuses[0].ImageID, imageID("nginx:2"); got != want {
		t.Errorf("with another image: got %q, want %q", got, want)
	}
}

// TestImageIDOfARestart replaces one that is not of the image that the new run has.
func TestImageIDOfARestart(t *testing.T) {
	pod := testPod(nil)
	timeline(pod, testPlacement, 9)
	s := &pod.Status.ContainerStatuses[0]
	s.ImageID, s.State = "nginx", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	timeline(pod, testPlacement, 9)
	if got, want := pod.Status.ContainerStatuses[0].ImageID, imageID(pod.Spec.Containers[0].Image); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
