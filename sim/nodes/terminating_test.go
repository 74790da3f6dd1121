package nodes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// TestReadinessOfAPodThatStops has a readiness probe that fails while the command of a deleted
// Pod stops: clients see that, as with a kubelet, and the Pod is deleted when the command has
// ended.
func TestReadinessOfAPodThatStops(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Command = []string{"sh", "-c", "trap '" + untilGo + "; exit 5' TERM; echo up; while true; do sleep 0.01; done"}
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 20, ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"test", "!", "-e", "/tmp/unready"}},
		}}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	awaitUp(t, pod, at, "a")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Minute)}, new(int64(60))
	pod.Generation++
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	if pod.Status.ObservedGeneration != pod.Generation {
		t.Errorf("observed generation %d", pod.Status.ObservedGeneration)
	}
	if due := nextPodStage(pod, at, time.Now()); due.name != podDeleteLater {
		t.Errorf("while it stops: %+v", due)
	}
	touch(t, pod, at, "/tmp/unready")
	play(t, pod, at, changed, time.Now, "Running, a: runs")
	for _, c := range pod.Status.Conditions {
		if c.ObservedGeneration != pod.Generation || (c.Type == corev1.PodReady || c.Type == corev1.ContainersReady) && c.Reason != "ContainersNotReady" {
			t.Errorf("condition %+v", c)
		}
	}
	touch(t, pod, at, "/tmp/go")
	awaitEnd(t, pod, at, changed, "a")
	if due := nextPodStage(pod, at, time.Now()); due.name != podDeleteNow {
		t.Errorf("at the end: %+v", due)
	}
	pod.Status, _ = podStatus(pod, at, time.Now())
	if got := describePod(pod); got != "Failed, a: exit 5" {
		t.Errorf("at the end: %s", got)
	}
}

// TestWritesOfAPodThatStops follows a Pod through the registry: its status is written while
// its command stops, and then it is deleted.
func TestWritesOfAPodThatStops(t *testing.T) {
	at, changed := commandsFixture(t)
	l := newTestRegistry(t, testNode(nil))
	l.now, l.commands = time.Now, at.commands.runtime
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap '" + untilGo + "; exit 5' TERM; echo up; while true; do sleep 0.01; done"}
	})
	version := 0
	update := func() dueStage {
		version++
		pod = pod.DeepCopy()
		pod.ResourceVersion = strings.Repeat("1", version)
		next := l.updatePod(pod, false, nil).next
		l.assignPod(pod, next, nil)
		return next
	}
	write := func() bool {
		t.Helper()
		due, at, err := l.duePod(pod.UID)
		if err != nil {
			t.Fatal(err)
		}
		if due != nil {
			pod.Status, _ = podStatus(due, at, time.Now())
		}
		return due != nil
	}
	for deadline := time.Now().Add(patience); pod.Status.Phase != corev1.PodRunning; {
		if update().name == podStatusNow {
			write()
		}
		if time.Now().After(deadline) {
			t.Fatal(describePod(pod))
		}
	}
	awaitUp(t, pod, at, "a")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Minute)}, new(int64(60))
	pod.Generation++
	if due := update(); due.name != podStatusNow || !write() || describePod(pod) != "Running, ready, a: runs" {
		t.Errorf("when it is deleted: %+v, %s", due, describePod(pod))
	}
	due := update()
	if due.name != podDeleteLater || write() {
		t.Errorf("while it stops: %+v, %s", due, describePod(pod))
	}
	l.pods[pod.UID].play = dueStage{name: podStatusNow, at: time.Now()} // readiness changed and changed back
	if _, patch, later, err := l.podPatch(pod.UID); len(patch) > 0 || err != nil || !later.Equal(due.at) || l.duePodStage(pod.UID) != due {
		t.Errorf("a write that changes nothing: %s, %v, %v, %+v", patch, later, err, l.duePodStage(pod.UID))
	}
	touch(t, pod, at, "/tmp/go")
	awaitEnd(t, pod, at, changed, "a")
	if due := update(); due.name != podDeleteNow || !write() || describePod(pod) != "Failed, a: exit 5" {
		t.Errorf("at the end: %+v, %s", due, describePod(pod))
	}
}

// TestReadinessOfContainersThatEnd has a container of a Pod that stops which ends before the
// others: it stays as it was until all have ended.
func TestReadinessOfContainersThatEnd(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", "trap '" + untilGo + "' TERM; echo up; while true; do sleep 0.01; done"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Command: []string{"sleep", "infinity"}})
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs, b: runs")
	awaitUp(t, pod, at, "a")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Minute)}, new(int64(60))
	if due := nextPodStage(pod, at, time.Now()); due.name != podDeleteLater {
		t.Errorf("due: %+v", due)
	}
	awaitEnd(t, pod, at, changed, "b")
	if state, _ := at.commands.runtime.State(pod.UID, "a", 0); state.Phase != container.Running {
		t.Errorf("a: %+v", state)
	}
	if due := nextPodStage(pod, at, time.Now()); due.name != podDeleteLater {
		t.Errorf("when b has ended: %+v", due)
	}
}

// TestPreStopSleepsWithoutACommand delays the end of a container without a command, but not that of one that ends by
// itself.
func TestPreStopSleepsWithoutACommand(t *testing.T) {
	sleeps := func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = "a"
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 600}}}
	}
	at, changed := commandsFixture(t)
	pod := testPod(sleeps)
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Hour)}, new(int64(3600))
	if due := nextPodStage(pod, at, time.Now()); due.name != podDeleteLater {
		t.Errorf("while it stops: %+v", due)
	}
	if got := describePod(pod); got != "Running, ready, a: runs" {
		t.Errorf("while it stops: %s", got)
	}

	job := testPod(sleeps)
	job.UID, job.Spec.RestartPolicy = "job", corev1.RestartPolicyNever
	job.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: new(true)}}
	job.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	job.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: "$(NAME)"}} // it needs preparation
	job.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	play(t, job, at, changed, time.Now, "Succeeded, a: exit 0")
}
