package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// TestNextDueWithAStage has a Pod for which something is due by default, now, in place of which a stage is played.
// The version of an object is as it is for templates, unless kwok would skip it.
func TestVersionsThatKwokIsGiven(t *testing.T) {
	r := newTestRegistry(t, testNode(nil))
	pod := testPod(nil)
	r.updatePod(pod, false, nil)
	stage := dueStage{name: userPrefix + "s", at: epoch, user: &drawnStage{stage: &userStage{object: &corev1.ObjectReference{Name: "s", ResourceVersion: "1"}}}}
	var versions []string
	for _, version := range []string{"1", "1", "1", "2", "2"} {
		pod = pod.DeepCopy()
		pod.ResourceVersion = version
		r.updatePod(pod, false, nil)
		stage.user = &drawnStage{stage: &userStage{object: stage.user.stage.object}} // it was replaced
		r.assignPod(pod, stage, func(*userStage) bool { return true })
		given, what := r.takePodStage(pod.UID)
		copied := *given
		setDueStage(&copied.ObjectMeta, what)
		versions = append(versions, copied.ResourceVersion)
	}
	if diff := cmp.Diff([]string{"1", "1+1", "1+2", "2", "2+1"}, versions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

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
	now = due
	if given, _ := r.takePodStage(pod.UID); given != pod {
		t.Errorf("kwok is given %v", given)
	}
	expect("as it is played", later)
	r.assignPod(pod, dueStage{}, inForce)
	expect("after its first step has changed the Pod", later)
	now = due.Add(playTime)
	expect("after it has changed nothing more")
	update := func(change func(*stageState)) { r.changePodStage(pod.UID, change) }
	update(func(s *stageState) { s.fail("slow@1", now) })
	expect("before it is known whether it is tried again", Due{What: "Pod n/p", At: now})
	update(func(s *stageState) { s.retry("slow@1", now.Add(time.Minute)) })
	expect("before it is tried again", Due{What: "Pod n/p", At: now.Add(time.Minute)})
	now = now.Add(time.Minute + playTime)
	expect("after it was tried again, which has changed nothing")
	update(func(s *stageState) { s.fail("slow@0", now) })
	expect("after an earlier one has failed")
	update(func(s *stageState) {
		earlier := s.fail("slow@1", now)
		earlier.version = "earlier"
		s.end(earlier)
	})
	expect("after it has failed finally for an earlier version of the Pod", Due{What: "Pod n/p", At: now})
	update(func(s *stageState) { s.end(s.fail("slow@1", now)) })
	expect("after it has failed finally")
	r.assignPod(pod, dueStage{name: podStatusNow, at: now}, inForce)
	r.updatePod(pod, false, nil)
	expect("without it", Due{What: "Pod n/p", At: now})
}

// TestStageDelay has delays as users write them. kwok has none.
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
			setDueStage(&pod.ObjectMeta, what)
			event := &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations, Data: pod}
			plays, err := stageGetter{set, podRef}.Get().Match(t.Context(), event)
			if err != nil || plays == nil {
				t.Fatalf("kwok plays %v: %v", plays, err)
			}
			if delay, _, err := plays.Delay(t.Context(), event, epoch); err != nil || delay != 0 {
				t.Errorf("kwok delays it by %s: %v", delay, err)
			}
		})
	}
}
