package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// resizable gives the main container of a Pod resources. A resize of memory restarts it.
func resizable(p *corev1.Pod) {
	c := &p.Spec.Containers[0]
	c.Resources = resources("100m", "64Mi")
	c.ResizePolicy = []corev1.ContainerResizePolicy{
		{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired},
		{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
	}
}

func resources(cpu, memory string) corev1.ResourceRequirements {
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.ResourceRequirements{Requests: limits, Limits: limits}
}

// resize changes the resources of the main container of a Pod, as a client does.
func resize(p *corev1.Pod, cpu, memory string) {
	p.Generation++
	p.Spec.Containers[0].Resources = resources(cpu, memory)
}

// TestResizeRestartsContainer resizes a container whose resizePolicy asks for a restart
// when its memory changes.
func TestResizeRestartsContainer(t *testing.T) {
	for name, c := range map[string]struct {
		cpu, memory string
		want        []string
	}{
		"cpu":         {"200m", "64Mi", []string{"0s Running, ready, a: runs", "rests"}},
		"memory":      {"100m", "128Mi", []string{"0s Running, ready, a: runs #1", "rests"}},
		"both":        {"200m", "32Mi", []string{"0s Running, ready, a: runs #1", "rests"}},
		"same amount": {"0.1", "65536Ki", []string{"0s Running, ready, a: runs", "rests"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(resizable)
			timeline(pod, testPlacement, 9)
			resize(pod, c.cpu, c.memory)
			if diff := cmp.Diff(c.want, timeline(pod, testPlacement, 9)); diff != "" {
				t.Error(diff)
			}
			s := pod.Status.ContainerStatuses[0]
			if got := s.Resources.Limits; got.Cpu().String() != resourceString(c.cpu) || got.Memory().Cmp(resource.MustParse(c.memory)) != 0 {
				t.Errorf("resources after the resize: %v", got)
			}
			if end := s.LastTerminationState.Terminated; (end != nil) != (s.RestartCount > 0) || end != nil && end.ExitCode != sigtermExitCode {
				t.Errorf("last state after %d restarts: %+v", s.RestartCount, end)
			}
		})
	}
}

func resourceString(q string) string {
	parsed := resource.MustParse(q)
	return parsed.String()
}

// slowToStopPod returns a Pod whose command exits with 0 when it was asked to stop and
// /tmp/go exists.
func slowToStopPod() *corev1.Pod {
	return testPod(func(p *corev1.Pod) {
		resizable(p)
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap '" + untilGo + "; exit 0' TERM; echo up; while :; do sleep 0.01; done"}
	})
}

// playResizeRestart plays a Pod with a command until a resize of its memory has asked the command
// to stop.
func playResizeRestart(t *testing.T) (pod *corev1.Pod, at placement, changed chan struct{}) {
	t.Helper()
	at, changed = commandsFixture(t)
	at.backoffs = &restartBackoffs{}
	pod = slowToStopPod()
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	awaitUp(t, pod, at, "a")
	resize(pod, "100m", "128Mi")
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	return pod, at, changed
}

// TestResizeRestartsACommand stops a command with SIGTERM and starts it again without a
// delay, whatever its exit code: its restart policy would end the Pod.
func TestResizeRestartsACommand(t *testing.T) {
	pod, at, changed := playResizeRestart(t)
	if s := pod.Status.ContainerStatuses[0]; s.Resources.Limits.Memory().String() != "64Mi" || s.AllocatedResources.Memory().String() != "128Mi" {
		t.Errorf("while it stops: %+v", s)
	}
	if _, c := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); c == nil || c.Status != corev1.ConditionTrue || c.ObservedGeneration != 2 {
		t.Errorf("condition while it stops: %+v", c)
	}
	touch(t, pod, at, "/tmp/go")
	for restarts := 1; restarts <= 3; restarts++ { // none waits for a backoff
		want := "Running, ready, a: runs #" + string(rune('0'+restarts))
		got := play(t, pod, at, changed, time.Now, want)
		for _, line := range got {
			if strings.Contains(line, "exit") || strings.Contains(line, "BackOff") {
				t.Errorf("got %q", got)
			}
		}
		s := pod.Status.ContainerStatuses[0]
		if end := s.LastTerminationState.Terminated; end == nil || end.ExitCode != 0 {
			t.Errorf("last state: %+v", end)
		}
		if i, _ := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); i >= 0 {
			t.Errorf("conditions after the resize: %+v", pod.Status.Conditions)
		}
		awaitLog(t, pod, at, "a", s.RestartCount)
		touch(t, pod, at, "/tmp/go")
		resize(pod, "100m", []string{"128Mi", "64Mi"}[restarts%2])
	}
}

// TestOrdinaryExitDuringResize ends by itself before the resize could stop it: the restart
// policy decides.
func TestOrdinaryExitDuringResize(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		resizable(p)
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p.Spec.Containers[0].Command = []string{"sh", "-c", "until [ -e /tmp/go ]; do sleep 0.01; done"}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	touch(t, pod, at, "/tmp/go")
	awaitEnd(t, pod, at, changed, "a")
	resize(pod, "100m", "128Mi")
	play(t, pod, at, changed, time.Now, "Succeeded, a: exit 0")
}

// TestResizeEvents has the events that upstream's kubelet records in the same cases.
func TestResizeEvents(t *testing.T) {
	node := smallNode()
	l := newTestRegistry(t, node)
	pod := testPod(resizable)
	var got []string
	update := func() {
		t.Helper()
		for range 2 { // a second update reports nothing again
			for _, e := range l.updatePod(pod, false, node).events {
				reason, _, _ := strings.Cut(e.message, ":")
				got = append(got, strings.TrimSpace(e.container+" "+e.reason+": "+reason))
			}
		}
	}
	write := func() {
		t.Helper()
		due, at, err := l.duePod(pod.UID)
		if err != nil || due == nil {
			t.Fatalf("due: %v, %v", due, err)
		}
		pod.Status, _ = podStatus(due, at, epoch)
		update()
	}
	check := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		got = nil
	}
	update()
	write()
	check("start")
	resize(pod, "200m", "64Mi")
	update()
	check("more CPU", "ResizeStarted: Pod resize started")
	write()
	check("more CPU, done", "ResizeCompleted: Pod resize completed")
	resize(pod, "200m", "128Mi")
	update()
	check("more memory", "ResizeStarted: Pod resize started", "a Killing: Container a resize requires restart")
	pod.Generation++ // while the container stops
	update()
	check("more memory, another change")
	write()
	check("more memory, done", "ResizeCompleted: Pod resize completed")

	crash(pod)
	crashed := pod.Status.DeepCopy()
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	resize(pod, "300m", "128Mi")
	update()
	check("while it waits for a restart", "ResizeStarted: Pod resize started", "ResizeCompleted: Pod resize completed",
		"a BackOff: Back-off restarting failed container a in pod p_n(u)")
	pod.Status = *crashed
	write()
	check("restarted")

	other := testPod(withRequest(corev1.ResourceCPU, "1"))
	other.UID = "other"
	l.updatePod(other, false, node)
	resize(pod, "1500m", "256Mi")
	update()
	write()
	check("more than is free", "ResizeDeferred: Pod resize Deferred")
	l.deletePod("other")
	write()
	check("once it is free", "ResizeStarted: Pod resize started", "a Killing: Container a resize requires restart", "ResizeCompleted: Pod resize completed")

	resize(pod, "9", "256Mi")
	update()
	check("more than the node has", "ResizeDeferred: Pod resize Deferred")
	resize(pod, "1500m", "256Mi")
	update()
	check("reverted")
	pod.Generation++ // of another change
	update()
	check("another change")
}

// TestPodResizeRestartsContainers changes the CPU limit of a Pod as a whole, which is that of its containers
// without one, as pkg/kubelet/util.GetLimits has it.
func TestPodResizeRestartsContainers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Container)
		want   string
	}{
		"no limit":               {func(*corev1.Container) {}, "0s Running, ready, s: runs, a: runs #1"},
		"a limit":                {func(c *corev1.Container) { c.Resources = resources("100m", "64Mi") }, "0s Running, ready, s: runs, a: runs"},
		"of another resource":    {func(c *corev1.Container) { c.ResizePolicy[0].ResourceName = corev1.ResourceMemory }, "0s Running, ready, s: runs, a: runs"},
		"that needs no restart":  {func(c *corev1.Container) { c.ResizePolicy[0].RestartPolicy = corev1.NotRequired }, "0s Running, ready, s: runs, a: runs"},
		"without a resizePolicy": {func(c *corev1.Container) { c.ResizePolicy = nil }, "0s Running, ready, s: runs, a: runs"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(limitedPod)
			c.change(&pod.Spec.Containers[0])
			timeline(pod, testPlacement, 9)
			resizeWhole(pod, "300m")
			if diff := cmp.Diff([]string{c.want, "rests"}, timeline(pod, testPlacement, 9)); diff != "" {
				t.Error(diff)
			}
			if got := pod.Status.Resources.Limits.Cpu().String(); got != "300m" {
				t.Errorf("the Pod has %s after the resize", got)
			}
		})
	}
}

// limitedPod limits the CPU of a Pod as a whole. A change restarts its main container. Another has a limit of its
// memory, which is not one of the Pod.
func limitedPod(p *corev1.Pod) {
	p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	p.Spec.InitContainers = []corev1.Container{{
		Name: "s", Image: "s", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Limits: memory, Requests: memory},
	}}
	resizeWhole(p, "200m")
}

// resizeWhole changes the CPU of a Pod as a whole.
func resizeWhole(p *corev1.Pod, cpu string) {
	p.Generation++
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	p.Spec.Resources = &corev1.ResourceRequirements{Requests: list, Limits: list}
}

// TestPodResizeRestartsOnce has a container that takes its time to stop, and one that does not: that restarts once.
func TestPodResizeRestartsOnce(t *testing.T) {
	at, changed := commandsFixture(t)
	at.backoffs = &restartBackoffs{}
	pod := slowToStopPod()
	limitedPod(pod)
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "b", Image: "b", ResizePolicy: pod.Spec.Containers[0].ResizePolicy})
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	play(t, pod, at, changed, time.Now, "Running, ready, s: runs, a: runs, b: runs")
	awaitUp(t, pod, at, "a")
	resizeWhole(pod, "300m")
	at.resizedBy = pod.Generation
	play(t, pod, at, changed, time.Now, "Running, ready, s: runs, a: runs, b: runs #1")
	pod.Status, _ = podStatus(pod, at, time.Now())
	if n := containerStatusOf(pod.Status.ContainerStatuses, "b").RestartCount; n != 1 {
		t.Errorf("b restarted %d times while a stops", n)
	}
	touch(t, pod, at, "/tmp/go")
	play(t, pod, at, changed, time.Now, "Running, ready, s: runs, a: runs #1, b: runs #1")
	if got := pod.Status.Resources.Limits.Cpu().String(); got != "300m" {
		t.Errorf("the Pod has %s after the resize", got)
	}
}
