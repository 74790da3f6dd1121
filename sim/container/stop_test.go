package container

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestMinimumGracePeriod stops containers whose grace period is shorter than what a kubelet gives
// a command to end after SIGTERM.
func TestMinimumGracePeriod(t *testing.T) {
	ends := map[string]func(f *fixture, pod *corev1.Pod){
		"a Pod that stops": func(f *fixture, pod *corev1.Pod) {
			f.StopPod(pod, time.Now())
		},
		"a shorter deadline": func(f *fixture, pod *corev1.Pod) {
			f.StopPod(pod, time.Now().Add(time.Hour))
			f.StopPod(pod, time.Now())
		},
		"a container that is replaced": func(f *fixture, pod *corev1.Pod) {
			pod.Spec.TerminationGracePeriodSeconds = new(int64)
			f.Replace(pod, "c", 0, ReplacedForImage)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			pod := newPod("sh", "-c", "trap 'sleep 0.01; exit 5' TERM; echo up; while true; do sleep 0.01; done")
			f.start(pod)
			f.awaitLine(pod)
			end(f, pod)
			if end := f.await(pod, Ended); end.ExitCode != 5 {
				t.Errorf("got %+v", end)
			}
		})
	}
}

// sidecarPod returns a Pod with two sidecars that exit with 5 if their hook has run, and a main
// container with a script.
func sidecarPod(script string) *corev1.Pod {
	pod := newPod("sh", "-c", script)
	for _, name := range []string{"s1", "s2"} {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
			Name: name, Image: "busybox",
			Command: []string{"sh", "-c", "trap 'test -e /tmp/hooked && exit 5; exit 6' TERM; echo up; while true; do sleep 0.01; done"},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
				Exec: &corev1.ExecAction{Command: []string{"touch", "/tmp/hooked"}},
			}},
		})
	}
	return pod
}

// startSidecarPod starts all containers of a Pod and waits until their traps are set.
func startSidecarPod(f *fixture, pod *corev1.Pod) {
	f.t.Helper()
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		f.Run(Spec{Pod: pod, Container: c, Args: c.Command, Sidecar: true})
		f.awaitLineOf(pod, c.Name)
	}
	f.start(pod)
	f.awaitLine(pod)
}

// TestSidecarsOfAMainContainerThatOverruns has a main container that uses its grace period:
// the sidecars end in their own way all the same.
func TestSidecarsOfAMainContainerThatOverruns(t *testing.T) {
	f := newFixture(t)
	pod := sidecarPod("trap '' TERM; echo up; while true; do sleep 0.01; done")
	startSidecarPod(f, pod)
	f.StopPod(pod, time.Now().Add(time.Hour))
	for _, name := range []string{"s1", "s2"} {
		f.awaitFile(pod, name, "/tmp/hooked")
	}
	f.StopPod(pod, time.Now()) // the hooks have run: the grace period may end
	for _, name := range []string{"s1", "s2"} {
		if end := f.awaitContainer(pod, name, Ended); end.ExitCode != 5 {
			t.Errorf("sidecar %s: %+v", name, end)
		}
	}
	if end := f.await(pod, Ended); end.ExitCode != 137 {
		t.Errorf("the main container: %+v", end)
	}
}

// TestOrderOfStop has hooks of sidecars that run beside the main container. Its sidecars end
// after it, the last one first.
func TestOrderOfStop(t *testing.T) {
	f := newFixture(t)
	pod := sidecarPod("trap 'until [ -e /tmp/go ]; do sleep 0.01; done; exit 0' TERM; echo up; while true; do sleep 0.01; done")
	startSidecarPod(f, pod)
	f.StopPod(pod, time.Now().Add(time.Minute))
	for _, name := range []string{"s1", "s2"} {
		f.awaitFile(pod, name, "/tmp/hooked")
		if state, _ := f.State(pod.UID, name, 0); state.Phase != Running {
			t.Errorf("sidecar %s beside the main container: %+v", name, state)
		}
	}
	f.exec(pod, "touch /tmp/go")
	first := f.awaitContainer(pod, "s1", Ended)
	last, _ := f.State(pod.UID, "s2", 0)
	main, _ := f.State(pod.UID, "c", 0)
	if main.Phase != Ended || last.Phase != Ended || last.FinishedAt.Before(main.FinishedAt) || first.FinishedAt.Before(last.FinishedAt) {
		t.Errorf("main container %+v, s2 %+v, s1 %+v", main, last, first)
	}
}

// TestSidecarOfAnInitContainer stops a Pod whose init container takes its time: a sidecar waits
// only for main containers.
func TestSidecarOfAnInitContainer(t *testing.T) {
	f := newFixture(t)
	pod := sidecarPod("")
	s := &pod.Spec.InitContainers[0]
	pod.Spec.InitContainers[1] = corev1.Container{
		Name: "i", Image: "busybox", Command: []string{"sh", "-c", "trap 'until [ -e /tmp/go ]; do sleep 0.01; done' TERM; echo up; while true; do sleep 0.01; done"},
	}
	i := &pod.Spec.InitContainers[1]
	f.Run(Spec{Pod: pod, Container: s, Args: s.Command, Sidecar: true})
	f.Run(Spec{Pod: pod, Container: i, Args: i.Command})
	f.awaitLineOf(pod, "s1")
	f.awaitLineOf(pod, "i")
	f.StopPod(pod, time.Now().Add(time.Minute))
	if end := f.awaitContainer(pod, "s1", Ended); end.ExitCode != 5 {
		t.Errorf("the sidecar: %+v", end)
	}
	if state, _ := f.State(pod.UID, "i", 0); state.Phase != Running {
		t.Errorf("the init container: %+v", state)
	}
}

// TestServerAsSidecar has a sidecar without a command whose probes are made: it waits for its
// turn, too.
func TestServerAsSidecar(t *testing.T) {
	f := newFixture(t)
	pod := sidecarPod("trap 'touch /tmp/stops; until [ -e /tmp/go ]; do sleep 0.01; done; exit 0' TERM; echo up; while true; do sleep 0.01; done")
	s := &pod.Spec.InitContainers[0]
	s.Command = nil
	f.Run(Spec{Pod: pod, Container: s, Sidecar: true, Serves: true})
	f.start(pod)
	f.awaitLine(pod)
	f.StopPod(pod, time.Now().Add(time.Minute))
	f.awaitFile(pod, "c", "/tmp/stops")
	if state, _ := f.State(pod.UID, "s1", 0); state.Phase != Running {
		t.Errorf("beside the main container: %+v", state)
	}
	f.exec(pod, "touch /tmp/go")
	if end := f.awaitContainer(pod, "s1", Ended); end.ExitCode != 143 {
		t.Errorf("got %+v", end)
	}
}
