package container

import (
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podWithEnvironmentFile returns a Pod whose container c has a variable from a file, which
// its container writer may write.
func podWithEnvironmentFile() *corev1.Pod {
	pod := newPod("sh", "-c", `echo "A is $A"`)
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{
		Name: "A", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "app/env", Key: "KEY"}},
	}}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "writer", Image: "busybox", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}})
	return pod
}

// TestEnvironmentFromAFile has an environment that another container of the Pod writes:
// until then the container waits. The file may not be one outside of its volume.
func TestEnvironmentFromAFile(t *testing.T) {
	f := newFixture(t)
	pod := podWithEnvironmentFile()
	writer := containerOf(pod, "writer")
	writer.Command = []string{"sh", "-c", "mkdir /v/app; ln -s /etc/passwd /v/app/env; until [ -e /v/go ]; do sleep 0.01; done; rm /v/app/env; echo \"KEY='from the file'\" > /v/app/env; sleep infinity"}
	f.Run(Spec{Pod: pod, Container: writer, Args: writer.Command})
	f.awaitContainer(pod, "writer", Running)
	if err := f.Exec(t.Context(), pod, "writer", 0, []string{"sh", "-c", "until [ -L /v/app/env ]; do sleep 0.01; done"}, Streams{}); err != nil {
		t.Fatal(err)
	}
	f.start(pod)
	if state := f.await(pod, Blocked); state.Message != "couldn't parse env file: open app/env: no such file or directory" {
		t.Errorf("with a link to a file of the host: %+v", state)
	}
	if err := f.Exec(t.Context(), pod, "writer", 0, []string{"touch", "/v/go"}, Streams{}); err != nil {
		t.Fatal(err)
	}
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "A is from the file\n" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

// TestLargeEnvironmentFile does not read more than an environment may hold.
func TestLargeEnvironmentFile(t *testing.T) {
	f := newFixture(t)
	pod := podWithEnvironmentFile()
	writer := containerOf(pod, "writer")
	writer.Command = []string{"sh", "-c", "mkdir /v/app; truncate -s 3000000 /v/app/env; touch /v/done; sleep infinity"}
	f.Run(Spec{Pod: pod, Container: writer, Args: writer.Command})
	f.awaitContainer(pod, "writer", Running)
	if err := f.Exec(t.Context(), pod, "writer", 0, []string{"sh", "-c", "until [ -e /v/done ]; do sleep 0.01; done"}, Streams{}); err != nil {
		t.Fatal(err)
	}
	f.start(pod)
	if state := f.await(pod, Blocked); !strings.Contains(state.Message, "app/env is longer than 2097152 bytes") {
		t.Errorf("got %+v", state)
	}
}

// TestEnvironmentFileOfAStoppedPod reads a file while its Pod stops: the volumes are gone, and
// are not made again.
func TestEnvironmentFileOfAStoppedPod(t *testing.T) {
	f := newFixture(t)
	pod := podWithEnvironmentFile()
	f.start(pod)
	f.await(pod, Blocked)
	s := f.active()
	s.mu.Lock()
	p := s.pods[pod.UID]
	s.mu.Unlock()
	var reads sync.WaitGroup
	for range 4 {
		reads.Go(func() {
			for range 100 {
				if _, err := s.File(t.Context(), pod, "v", "app/env", 100); err == nil {
					t.Error("the file was read")
				}
			}
		})
	}
	f.StopPod(pod, time.Now())
	reads.Wait()
	_, err := s.File(t.Context(), pod, "v", "app/env", 100)
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.volumes != nil || err == nil || err.Error() != "the pod has stopped" {
		t.Errorf("after the stop: volumes %v, error %v", p.volumes, err)
	}
}
