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
	"sigs.k8s.io/kwok/pkg/utils/informer"
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

// TestPodIsPlayedByOne has what is due for versions of a Pod, in turn. kwok gets the stages of users when they are due,
// and what it still has to do is cancelled when something else becomes due.
func TestPodIsPlayedByOne(t *testing.T) {
	r := newTestRegistry(t, testNode(nil))
	pod := testPod(nil)
	r.updatePod(pod, false, nil)
	now := epoch
	r.now = func() time.Time { return now }
	f := &podFeed{
		ctx: t.Context(), registry: r, stages: newStageSet(nil), events: make(chan informer.Event[*corev1.Pod], 1), schedule: func(string, time.Time) {},
	}
	match := func(name string) dueStage {
		if _, err := f.stages.set(parseStage(t, strings.NewReplacer("name: fails", "name: "+name, "[Running]", "[Pending]", "fails: \"yes\"", "app: "+name).Replace(podStage))); err != nil {
			t.Fatal(err)
		}
		pod := testPod(func(p *corev1.Pod) { p.Labels, p.Status.Phase = map[string]string{"app": name}, corev1.PodPending })
		what, _ := f.stages.match(t.Context(), podRef, &pod.ObjectMeta, pod, now, dueStage{})
		return what
	}
	a, b := match("a"), match("b")
	const none informer.EventType = ""
	nothing := dueStage{}
	builtin, later := dueStage{name: podStatusNow, at: now}, dueStage{name: a.name, at: now.Add(time.Minute), user: a.user}
	for i, step := range []struct {
		version string
		what    dueStage
		sent    informer.EventType // to kwok
		plays   dueStage
		given   informer.EventType // to kwok, by the player
	}{
		{"1", builtin, none, builtin, none},
		{"2", later, none, later, none},
		{"3", nothing, none, nothing, none},
		{"4", later, none, later, none},
		{"5", builtin, none, builtin, none},
		{"6", a, none, a, informer.Modified},
		{"6", a, none, nothing, none},       // as from a list
		{"7", nothing, none, nothing, none}, // its first step has changed the Pod
		{"8", builtin, informer.Deleted, builtin, none},
		{"9", builtin, none, builtin, none},
		{"10", a, none, a, informer.Modified},
		{"10", b, informer.Deleted, b, informer.Modified},
		{"11", b, informer.Deleted, b, informer.Modified},
	} {
		sent := func() (kind informer.EventType) {
			select {
			case e := <-f.events:
				kind = e.Type
			default:
			}
			return kind
		}
		pod.ResourceVersion = step.version
		r.updatePod(pod, false, nil)
		f.playPod(pod, step.what)
		toKwok, plays := sent(), r.duePodStage(pod.UID)
		f.giveToKwok(pod.UID)
		if given := sent(); toKwok != step.sent || plays != step.plays || given != step.given {
			t.Errorf("step %d: kwok got %q and then %q, the player has %+v, want %+v", i, toKwok, given, plays, step)
		}
	}
	f.stages.remove("b")
	f.playPod(pod, dueStage{})
	if e := <-f.events; e.Type != informer.Deleted {
		t.Errorf("without the stage kwok got %q", e.Type)
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
