package container

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// unknownPortPod returns a Pod without a table and without a command.
func unknownPortPod() (*corev1.Pod, *corev1.Container) {
	pod := newPod()
	c := &pod.Spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
	return pod, c
}

func httpGet(port intstr.IntOrString) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: port}}
}

// As with a kubelet, a probe whose port has a name that the container does not have has no result: a startup probe never
// succeeds, and a liveness probe never fails.
func TestProbesOfAnUnknownPort(t *testing.T) {
	tcp := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("htpp")}}
	for name, tc := range map[string]struct {
		set            func(*corev1.Container, *corev1.Probe)
		handler        corev1.ProbeHandler
		event          string // empty if the probe is not made
		started, ready bool
	}{
		"readiness":       {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, httpGet(intstr.FromString("htpp")), "Readiness", true, false},
		"readiness, tcp":  {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, tcp, "Readiness", true, false},
		"startup":         {func(c *corev1.Container, p *corev1.Probe) { c.StartupProbe = p }, httpGet(intstr.FromString("htpp")), "Startup", false, false},
		"liveness":        {func(c *corev1.Container, p *corev1.Probe) { c.LivenessProbe = p }, httpGet(intstr.FromString("htpp")), "Liveness", true, true},
		"known":           {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, httpGet(intstr.FromString("http")), "", true, true},
		"another number":  {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, httpGet(intstr.FromInt32(8081)), "", true, true},
		"with a table":    {func(c *corev1.Container, p *corev1.Probe) { c.LivenessProbe = p }, httpGet(intstr.FromString("htpp")), "Liveness", true, true},
		"with a command":  {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, httpGet(intstr.FromString("htpp")), "Readiness", true, false},
		"known, command":  {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, httpGet(intstr.FromString("http")), "", true, true},
		"of no such host": {func(c *corev1.Container, p *corev1.Probe) { c.ReadinessProbe = p }, corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "x", Port: intstr.FromString("htpp")}}, "Readiness", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				pod, c := unknownPortPod()
				if strings.HasSuffix(name, "command") {
					c.Command = []string{"sleep", "infinity"}
				}
				if name == "with a table" {
					f.setTable(pod.UID, "10.1.0.1", "/ 200\n")
				}
				tc.set(c, &corev1.Probe{ProbeHandler: tc.handler, PeriodSeconds: 1, FailureThreshold: 1})
				if got := DecidesWithoutCommand(pod, c); got != (tc.event != "") || AssumesProbe(pod, c) == got {
					t.Errorf("decides: %v, assumes: %v", got, AssumesProbe(pod, c))
				}
				f.Run(Spec{Pod: pod, Container: c, Args: c.Command, Serves: tc.event != "" && c.Command == nil})
				time.Sleep(5 * time.Second)
				synctest.Wait()
				state, _ := f.State(pod.UID, c.Name, 0)
				if state.Phase != Running || state.Started != tc.started || state.Ready != tc.ready {
					t.Errorf("got %+v", state)
				}
				f.Stop()
				want := ""
				if tc.event != "" {
					want = "Unhealthy: " + tc.event + ` probe errored and resulted in unknown state: port "htpp" not found`
				}
				got := ""
				if len(f.events) > 0 {
					got = <-f.events
				}
				if got != want {
					t.Errorf("event %q, want %q", got, want)
				}
			})
		})
	}
}

func TestPostStartHookAsksAnUnknownPort(t *testing.T) {
	for _, command := range [][]string{nil, {"sleep", "infinity"}} {
		f := newFixture(t)
		pod, c := unknownPortPod()
		c.Command = command
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/up", Port: intstr.FromString("htpp")}}}
		f.Run(Spec{Pod: pod, Container: c, Args: command, Serves: command == nil})
		const want = `HTTP lifecycle hook (/up) for Container "c" in Pod "p_ns(u)" failed - error: port "htpp" not found`
		if end := f.await(pod, Ended); end.ExitCode != 143 || end.HookError != want || !end.Decides() {
			t.Errorf("got %+v, want %s", end, want)
		}
		f.awaitEvent(t, `FailedPostStartHook: PostStartHook failed: port "htpp" not found`)
		c.Lifecycle.PostStart.HTTPGet.Port = intstr.FromString("http")
		if DecidesWithoutCommand(pod, c) || hook(c, true) != nil {
			t.Error("a hook with a port of the container runs")
		}
	}
}

func TestPreStopHookAsksAnUnknownPort(t *testing.T) {
	f := newFixture(t)
	pod, c := unknownPortPod()
	c.Command = []string{"sleep", "infinity"}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("htpp")}}}
	f.start(pod)
	f.await(pod, Running)
	f.StopPod(pod, time.Now().Add(time.Minute))
	f.awaitEvent(t, `FailedPreStopHook: PreStopHook failed: port "htpp" not found`)
	f.await(pod, Ended)
}
