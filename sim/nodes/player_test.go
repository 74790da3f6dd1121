package nodes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A player waits until something is due, tries again after an error that may pass, and
// gives up after another.
func TestPlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		due := began.Add(time.Hour)
		answers := map[string][]error{
			"busy":   {apierrors.NewTooManyRequests("wait", 0), apierrors.NewServiceUnavailable("wait"), nil},
			"broken": {errors.New("invalid"), errors.New("invalid"), nil},
			"gone":   {apierrors.NewNotFound(corev1.Resource("pods"), "gone")},
		}
		played := map[string][]time.Duration{}
		failed := map[string][]string{}
		play := func(_ context.Context, key string) (time.Time, error) {
			if key == "later" && time.Now().Before(due) {
				return due, nil
			}
			n := len(played[key])
			played[key] = append(played[key], time.Since(began))
			if key == "later" {
				return time.Time{}, nil
			}
			return time.Time{}, answers[key][n]
		}
		p := newPlayer(time.Now, minWriteDelay, maxWriteDelay, play, func(key string, err error) { failed[key] = append(failed[key], err.Error()) })
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.run(ctx)
		}()
		p.schedule("busy", began)
		p.schedule("broken", began)
		p.schedule("gone", began)
		p.schedule("later", began.Add(time.Minute)) // earlier than what is due now
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		want := map[string][]time.Duration{
			"busy":   {0, minWriteDelay, 3 * minWriteDelay},
			"broken": {0, minWriteDelay, 3 * minWriteDelay},
			"gone":   {0},
			"later":  {time.Hour},
		}
		if diff := cmp.Diff(want, played); diff != "" {
			t.Errorf("played (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string][]string{"broken": {"invalid"}}, failed); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
		cancel()
		p.queue.ShutDown()
		<-done
	})
}

// TestPodIsPlayedByOne has what is due for versions of a Pod, in turn. The stages of users are taken when they are due,
// and their runs end when something else becomes due.
func TestPodIsPlayedByOne(t *testing.T) {
	r := newTestRegistry(t, testNode(nil))
	pod := testPod(nil)
	r.updatePod(pod, false, nil)
	now := epoch
	r.now = func() time.Time { return now }
	f := &podFeed{ctx: t.Context(), registry: r, stages: newStageSet(nil), schedule: func(string, time.Time) {}}
	match := func(name string) dueStage {
		if _, err := f.stages.set(parseStage(t, strings.NewReplacer("name: fails", "name: "+name, "[Running]", "[Pending]", "fails: \"yes\"", "app: "+name).Replace(podStage))); err != nil {
			t.Fatal(err)
		}
		pod := testPod(func(p *corev1.Pod) { p.Labels, p.Status.Phase = map[string]string{"app": name}, corev1.PodPending })
		what, _ := f.stages.match(t.Context(), podRef, &pod.ObjectMeta, pod, now, dueStage{})
		return what
	}
	a, b := match("a"), match("b")
	nothing := dueStage{}
	builtin, later := dueStage{name: podStatusNow, at: now}, dueStage{name: a.name, at: now.Add(time.Minute), user: a.user}
	var run *stageRun
	for i, step := range []struct {
		version string
		what    dueStage
		ends    bool // the run before
		plays   dueStage
		taken   bool
	}{
		{"1", builtin, false, builtin, false},
		{"2", later, false, later, false},
		{"3", nothing, false, nothing, false},
		{"4", later, false, later, false},
		{"5", builtin, false, builtin, false},
		{"6", a, false, a, true},
		{"6", a, false, nothing, false},       // as from a list
		{"7", nothing, false, nothing, false}, // its first step has changed the Pod
		{"8", builtin, false, builtin, false},
		{"9", builtin, false, builtin, false},
		{"10", a, true, a, true},
		{"10", b, true, b, true},
		{"11", b, true, b, true},
	} {
		pod = pod.DeepCopy()
		pod.ResourceVersion = step.version
		r.updatePod(pod, false, nil)
		f.playPod(pod, step.what)
		ends, plays := run != nil && !r.isCurrent(run), r.duePodStage(pod.UID)
		taken := f.takeStage(string(pod.UID))
		if ends != step.ends || plays != step.plays || (taken != nil) != step.taken || taken != nil && taken.object != pod {
			t.Errorf("step %d: ends %v, the player has %+v, taken %+v, want %+v", i, ends, plays, taken, step)
		}
		if ends {
			run = nil
		}
		if taken != nil {
			run = taken
		}
	}
	f.stages.remove("b")
	f.playPod(pod, dueStage{})
	if r.isCurrent(run) {
		t.Error("the run continues without the stage")
	}
	r.deletePod(pod.UID)
	if plays := r.duePodStage(pod.UID); plays.name != "" {
		t.Errorf("a deleted pod: %+v is due", plays)
	}
}

// A key whose object was deleted leaves the queue long before what was due for it.
func TestPlayerDropsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		due := map[string]time.Time{"kept": began.AddDate(0, 0, 1), "deleted": began.AddDate(100, 0, 0)}
		played := map[string]time.Duration{}
		play := func(_ context.Context, key string) (time.Time, error) {
			played[key] = time.Since(began)
			if key == "kept" && time.Now().Before(due[key]) {
				return due[key], nil
			}
			return time.Time{}, nil // it does not exist any more
		}
		p := newPlayer(time.Now, minWriteDelay, maxWriteDelay, play, func(string, error) {})
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.run(ctx)
		}()
		for key, at := range due {
			p.schedule(key, at)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(map[string]time.Duration{"kept": 24 * time.Hour, "deleted": maxQueueTime}, played); diff != "" {
			t.Errorf("last looked at (-want +got):\n%s", diff)
		}
		cancel()
		p.queue.ShutDown()
		<-done
	})
}

// A Pod is deleted although the first attempt fails after its status was written, which
// passes the Pod to the feed again.
func TestDeleteIsRetried(t *testing.T) {
	client := fake.NewClientset()
	refused := make(chan struct{})
	pod := testPod(nil)
	client.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if p := a.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions; p == nil || p.UID == nil || *p.UID != pod.UID {
			t.Errorf("preconditions %v: another Pod of that name would be deleted", p)
		}
		select {
		case <-refused:
			return false, nil, nil
		default:
			close(refused)
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, errors.New("a webhook denies it"))
		}
	})
	f := startTestFleet(t, client, Config{Count: 1})
	api := client.CoreV1().Pods("n")
	if _, err := api.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running := waitForPod(t, client, pod, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	w, err := api.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	running.DeletionTimestamp, running.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64)
	running.ResourceVersion = "2"
	if _, err := api.Update(ctx, running, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	written := awaitWatchEvent(ctx, t, w, func(e watch.Event) bool {
		p, ok := e.Object.(*corev1.Pod)
		return ok && p.DeletionTimestamp != nil && p.Status.ContainerStatuses[0].State.Terminated != nil
	}).Object.(*corev1.Pod).DeepCopy()
	select {
	case <-refused:
	case <-ctx.Done():
		t.Fatal("nothing has deleted the pod")
	}
	// What the watch delivers between the two attempts.
	written.ResourceVersion = "3"
	f.simulation.pods.processPod(written, false)
	awaitWatchEvent(ctx, t, w, func(e watch.Event) bool { return e.Type == watch.Deleted })
}
