package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
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
	if due != (dueStage{name: podDeleteLater, at: seen.Add(time.Minute + stopSlack)}) {
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

// TestEndlessGracePeriod has a grace period whose ns do not fit into an int64: the API server computes the timestamp with
// one that has overflowed.
func TestEndlessGracePeriod(t *testing.T) {
	for _, seconds := range []int64{60, 9223372036, 9223372037, 20000000000} {
		pod := testPod(func(p *corev1.Pod) {
			p.Annotations[annotations.StopAfter] = "30m"
			p.DeletionGracePeriodSeconds = &seconds
			p.DeletionTimestamp = &metav1.Time{Time: epoch.Add(time.Second * time.Duration(seconds))}
			p.Status.Phase = corev1.PodRunning
		})
		want := epoch.Add(min(30*time.Minute, time.Duration(min(seconds, 9223372036))*time.Second))
		if got := podStopTime(pod); !got.Equal(want) {
			t.Errorf("%d s: stops at %s, want %s", seconds, got, want)
		}
		pod.Spec.TerminationGracePeriodSeconds = &seconds
		if got := stopDeadline(pod, epoch); got.Before(want) {
			t.Errorf("%d s: its commands are killed at %s", seconds, got)
		}
	}
}
