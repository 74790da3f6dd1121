package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// TestGracePeriodBeginsWhenItIsSeen has a Pod whose deletion is seen late: timestamps have
// whole seconds, and nodes fail. Its hook has all of the grace period.
func TestGracePeriodBeginsWhenItIsSeen(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Command = []string{"sh", "-c", "trap 'test -e /tmp/hooked && exit 5' TERM; echo up; while true; do sleep 0.01; done"}
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", untilGo + "; touch /tmp/hooked"}},
		}}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, a: runs")
	awaitUp(t, pod, at, "a")
	seen := time.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: seen.Add(-time.Minute)}, new(int64(60))
	due := nextPodStage(pod, at, seen)
	if due != (dueStage{podDeleteLater, seen.Add(time.Minute + stopSlack)}) {
		t.Errorf("due: %+v", due)
	}
	if later := nextPodStage(pod, at, seen.Add(time.Second)); later != due {
		t.Errorf("due later: %+v", later)
	}
	touch(t, pod, at, "/tmp/go")
	awaitEnd(t, pod, at, changed, "a")
	if state, _ := at.commands.runtime.State(pod.UID, "a", 0); state.Phase != container.Ended || state.ExitCode != 5 {
		t.Errorf("got %+v", state)
	}
}
