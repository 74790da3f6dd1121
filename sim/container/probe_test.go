package container

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probedPod returns a Pod that sleeps, and whose table a probe asks for a path every second.
func probedPod(path string) (*corev1.Pod, *corev1.Probe) {
	pod := servedPod(path + " 200\n")
	c := &pod.Spec.Containers[0]
	c.Command, c.ReadinessProbe, c.LivenessProbe = []string{"sleep", "infinity"}, nil, nil
	return pod, &corev1.Probe{
		PeriodSeconds: 1, FailureThreshold: 1000,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("web")}},
	}
}

// TestInitialDelayBeginsWithTheContainer has a container that takes longer to start than the
// initial delay of its readiness probe.
func TestInitialDelayBeginsWithTheContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		pod, probe := probedPod("/up")
		c := &pod.Spec.Containers[0]
		c.StartupProbe, c.ReadinessProbe = probe, probe.DeepCopy()
		c.ReadinessProbe.InitialDelaySeconds = 60
		f.setTable(pod.UID, "10.1.0.1", "/up 503\n")
		f.start(pod)
		time.Sleep(90 * time.Second)
		f.setTable(pod.UID, "10.1.0.1", "/up 200\n")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if state, _ := f.State(pod.UID, c.Name, 0); !state.Started || !state.Ready {
			t.Errorf("got %+v", state)
		}
		f.Stop()
	})
}

// TestLivenessOfAPodThatStops has probes that fail because the Pod stops.
func TestLivenessOfAPodThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		pod, probe := probedPod("/up")
		c := &pod.Spec.Containers[0]
		c.LivenessProbe, c.ReadinessProbe = probe, probe
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}}}
		f.setTable(pod.UID, "10.1.0.1", "/up 200\n")
		f.start(pod)
		time.Sleep(5 * time.Second)
		synctest.Wait() // for the probes of this second
		f.StopPod(pod, time.Now().Add(time.Minute))
		f.setTable(pod.UID, "10.1.0.1", "/up 503\n")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		f.Stop()
		unready := 0
		for len(f.events) > 0 {
			if event := <-f.events; strings.HasPrefix(event, "Unhealthy: Readiness") {
				unready++
			} else {
				t.Errorf("event %q", event)
			}
		}
		if unready == 0 {
			t.Error("its readiness is not probed any more")
		}
	})
}

// TestUnhealthyMessage has the messages of upstream's kubelet.
func TestUnhealthyMessage(t *testing.T) {
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
	for name, test := range map[string]struct {
		ofPod   corev1.RestartPolicy
		of      *corev1.ContainerRestartPolicy
		sidecar bool
		want    string
	}{
		"never":                  {ofPod: corev1.RestartPolicyNever, want: "Container c failed liveness probe"},
		"on failure":             {ofPod: corev1.RestartPolicyOnFailure, want: "Container c failed liveness probe, will be restarted"},
		"never of the container": {ofPod: corev1.RestartPolicyAlways, of: &never, want: "Container c failed liveness probe"},
		"a sidecar":              {ofPod: corev1.RestartPolicyNever, of: &always, sidecar: true, want: "Init container c failed liveness probe"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod("sleep", "infinity")
			c := &pod.Spec.Containers[0]
			pod.Spec.RestartPolicy, c.RestartPolicy = test.ofPod, test.of
			c.LivenessProbe = &corev1.Probe{FailureThreshold: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}}
			f.Run(Spec{Pod: pod, Container: c, Args: c.Command, Sidecar: test.sidecar})
			f.awaitEvent(t, "Killing: "+test.want)
			restarts := test.sidecar || test.ofPod == corev1.RestartPolicyOnFailure
			if end := f.await(pod, Ended); end.ExitCode != 143 || end.Unhealthy != restarts {
				t.Errorf("got %+v", end)
			}
		})
	}
}

// TestFailingProbesAreDecidedSoon has probes, and a container that is being stopped, for which "run" would not wait.
func TestFailingProbesAreDecidedSoon(t *testing.T) {
	for name, test := range map[string]struct {
		period, threshold int32
		failing           time.Duration // for how long after the start they are returned
	}{
		"default numbers, slow stop": {10, 3, maxUndecided},
		"many failures":              {1, 100, 0},
		"long period":                {60, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				pod, probe := probedPod("/up")
				c := &pod.Spec.Containers[0]
				probe.PeriodSeconds, probe.FailureThreshold = test.period, test.threshold
				c.LivenessProbe = probe
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 60}}}
				pod.Spec.TerminationGracePeriodSeconds = new(int64(100))
				f.setTable(pod.UID, "10.1.0.1", "/up 503\n")
				f.start(pod)
				began := time.Now()
				for at := time.Second; at < 80*time.Second; at += 2 * time.Second {
					time.Sleep(time.Until(began.Add(at)))
					synctest.Wait()
					if got := len(f.FailingProbes(10)) > 0; got != (at < test.failing) {
						t.Errorf("after %v: failing %v", at, got)
					}
				}
				f.Stop()
			})
		})
	}
}

// TestFailingProbes has a liveness probe that fails, recovers, and fails until its container is stopped, which takes a while.
func TestFailingProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		pod, probe := probedPod("/up")
		c := &pod.Spec.Containers[0]
		probe.PeriodSeconds, probe.FailureThreshold = 5, 3
		c.LivenessProbe = probe
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
		f.setTable(pod.UID, "10.1.0.1", "/up 503\n")
		f.start(pod)
		began := time.Now()
		expect := func(at time.Duration, failures int32, next time.Duration) {
			t.Helper()
			time.Sleep(time.Until(began.Add(at)))
			synctest.Wait()
			want := []FailingProbe{{pod.Namespace, pod.Name, c.Name, failures, 3, began.Add(next), began.Add(maxUndecided)}}
			if failures == 0 {
				want = nil
			}
			if diff := cmp.Diff(want, f.FailingProbes(10), cmp.AllowUnexported(FailingProbe{})); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", at, diff)
			}
		}
		expect(1*time.Second, 1, 5*time.Second)
		expect(6*time.Second, 2, 10*time.Second)
		f.setTable(pod.UID, "10.1.0.1", "/up 200\n")
		expect(11*time.Second, 0, 0)
		f.setTable(pod.UID, "10.1.0.1", "/up 503\n")
		expect(16*time.Second, 1, 20*time.Second)
		expect(26*time.Second, 3, 30*time.Second) // its hook runs
		expect(31*time.Second, 0, 0)
		f.Stop()
	})
}
