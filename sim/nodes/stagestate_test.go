package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A deletion that fails is not due at once, also if a stage has been played since.
func TestDeletionThatFails(t *testing.T) {
	now := epoch
	r := newTestRegistry(t, testNode(nil))
	r.now = func() time.Time { return now }
	pod := testPod(func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: epoch}, new(int64)
	})
	for _, want := range []time.Duration{0, minWriteDelay, 2 * minWriteDelay, 4 * minWriteDelay} {
		update := r.updatePod(pod, false, nil)
		if got := max(update.next.at.Sub(now), 0); !update.next.deletes() || got != want {
			t.Errorf("%s is due in %v, want a deletion in %v", update.next.name, got, want)
		}
		now = now.Add(want)
		r.noteUndeleted(pod.UID)
	}
	for range 100 {
		r.noteUndeleted(pod.UID)
	}
	if update := r.updatePod(pod, false, nil); update.next.at.Sub(now) != maxWriteDelay {
		t.Errorf("due in %v", update.next.at.Sub(now))
	}
}

// TestNextDueWithAStage has a Pod for which something is due by default, now, in place of which a stage is played.
func TestNextDueWithAStage(t *testing.T) {
	now := epoch
	r := newTestRegistry(t, testNode(nil))
	r.now = func() time.Time { return now }
	pod := testPod(nil)
	r.updatePod(pod, false, nil)
	due := epoch.Add(24 * time.Hour)
	stage := dueStage{name: userPrefix + "slow", at: due, user: &drawnStage{stage: &userStage{object: &corev1.ObjectReference{Name: "slow", ResourceVersion: "1"}}}}
	expect := func(when string, want ...Due) {
		t.Helper()
		if diff := cmp.Diff(want, r.nextDue()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	inForce := func(*userStage) bool { return true }
	later := Due{What: "Pod n/p", At: due}
	r.assignPod(pod, stage, inForce)
	expect("before", later)
	if run := r.takePodStage(pod.UID, inForce); run != nil {
		t.Errorf("taken too early: %+v", run)
	}
	now = due
	run := r.takePodStage(pod.UID, inForce)
	if run == nil || run.object != pod {
		t.Fatalf("taken: %+v", run)
	}
	expect("as it is played", later)
	r.assignPod(pod, dueStage{}, inForce)
	expect("after its first step has changed the Pod", later)
	r.postponeRun(run, now.Add(time.Minute))
	expect("before it is tried again", Due{What: "Pod n/p", At: now.Add(time.Minute)})
	r.endRun(run, false)
	expect("after it has been played")
	r.assignPod(pod, stage, inForce)
	expect("as it is due for the same version again")
	pod = pod.DeepCopy()
	pod.ResourceVersion = "next"
	r.updatePod(pod, false, nil)
	r.assignPod(pod, stage, inForce)
	expect("as it is due for another version", later)
	r.endRun(r.takePodStage(pod.UID, inForce), true)
	expect("after it has failed finally")
	r.assignPod(pod, stage, inForce)
	expect("as it is due again after it has failed", later)
	r.assignPod(pod, dueStage{name: podStatusNow, at: now}, inForce)
	r.updatePod(pod, false, nil)
	expect("without it", Due{What: "Pod n/p", At: now})
}

// TestStageDelay has delays as users write them.
func TestStageDelay(t *testing.T) {
	const hour, longest = time.Hour, maxStageDelay
	for name, test := range map[string]struct {
		delay       string
		least, most time.Duration
	}{
		"none":                      {"{}", 0, 0},
		"constant":                  {"{durationMilliseconds: 86400000}", 24 * hour, 24 * hour},
		"jitter":                    {"{durationMilliseconds: 3600000, jitterDurationMilliseconds: 7200000}", hour, 2 * hour},
		"253 years":                 {"{durationMilliseconds: 8000000000000}", longest, longest},
		"too many ns":               {"{durationMilliseconds: 9300000000000000}", longest, longest},
		"too many ns, with jitter":  {"{durationMilliseconds: 9300000000000, jitterDurationMilliseconds: 9300000000000}", longest, longest},
		"jitter of too many ns":     {"{durationMilliseconds: 3600000, jitterDurationMilliseconds: 9300000000000}", hour, longest},
		"expression":                {`{durationFrom: {jq: {expression: '"90m"'}}}`, 90 * time.Minute, 90 * time.Minute},
		"expression, far away":      {`{durationFrom: {jq: {expression: '"9000-01-01T00:00:00Z"'}}}`, longest, longest},
		"long ago, and with jitter": {`{durationFrom: {jq: {expression: '"0001-01-01T00:00:00Z"'}}, jitterDurationMilliseconds: 3600000}`, 0, hour},
		"fails":                     {"{durationFrom: {jq: {expression: 'error'}}}", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			set := newStageSet(nil)
			if _, err := set.set(parseStage(t, strings.Replace(podStage, "spec:\n", "spec:\n  delay: "+test.delay+"\n", 1))); err != nil {
				t.Fatal(err)
			}
			pod := testPod(func(p *corev1.Pod) {
				p.Labels = map[string]string{"fails": "yes"}
				p.Status.Phase = corev1.PodRunning
			})
			what, _ := set.match(t.Context(), podRef, &pod.ObjectMeta, pod, epoch, dueStage{})
			if got := what.at.Sub(epoch); what.name != "user/fails" || got < test.least || got > test.most {
				t.Errorf("%+v: after %s, want %s to %s", what, got, test.least, test.most)
			}
		})
	}
}
