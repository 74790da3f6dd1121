package nodes

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/observe"
)

// answeringTransport records a call and answers it.
type answeringTransport struct {
	recorder *observe.Recorder
	status   int
	err      error
}

func (a answeringTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a.recorder.RecordCall(&observe.Called{Verb: "patch", Status: a.status})
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status)}, a.err
}

// newPlayedPod returns a function that delivers a version of the Pod default/web, for which
// something is due then.
func newPlayedPod(t *testing.T) (o *observe.Observer, p *played, deliver func(version string, what dueStage)) {
	o = observe.New(observe.Options{})
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	p = newPlayed(o.Recorder("kubelet"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	now := time.Now()
	return o, p, func(version string, what dueStage) {
		pod.ResourceVersion = version
		p.deliver(observe.Updated, "Pod", pod, func() { p.pods.setDue(podKey(pod), what, now) })
	}
}

// A write follows from the version that it was made from, even if a newer one has been
// delivered meanwhile.
func TestPlayed(t *testing.T) {
	o, p, deliver := newPlayedPod(t)
	now := time.Now()
	send := func(method, path string, answer answeringTransport) {
		answer.recorder = p.recorder
		r, err := http.NewRequestWithContext(t.Context(), method, "http://none"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := (playedTransport{answer, p, nil}).RoundTrip(r); err == nil && resp.StatusCode != answer.status {
			t.Errorf("%s %s: %v", method, path, resp)
		}
	}
	const path = "/api/v1/namespaces/default/pods/web"
	deliver("1", dueStage{name: podStatusNow, at: now})
	p.pods.setRendered("default/web")
	deliver("2", dueStage{name: podStatusLater, at: now.Add(time.Hour)})
	send(http.MethodPatch, path+"/status", answeringTransport{status: 200})
	p.pods.setRendered("default/web")
	send(http.MethodDelete, path, answeringTransport{status: 500})
	deliver("3", dueStage{})
	p.pods.forget("default/web")
	send(http.MethodPatch, path+"/status", answeringTransport{err: errors.New("no answer")})
	send(http.MethodPatch, "/api/v1/nodes/n1/status", answeringTransport{status: 404})
	send(http.MethodGet, path, answeringTransport{status: 200})
	send(http.MethodPatch, "/api/v1/namespaces/default/events/e", answeringTransport{status: 200})

	page, err := o.Records(context.Background(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	versions := map[uint64]string{}
	var syncs []*observe.Synced
	inSync := 0
	for _, r := range page.Records {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			versions[r.Seq] = e.ResourceVersion
		case *observe.Synced:
			syncs = append(syncs, e)
		case *observe.Called:
			if e.Sync != 0 {
				inSync++
			}
		}
	}
	if len(syncs) != 4 || inSync != 4 {
		t.Fatalf("%d syncs with %d calls, want 4 with 4: %+v", len(syncs), inSync, syncs)
	}
	for i, want := range []struct{ key, version, failure string }{
		{"default/web", "1", ""}, {"default/web", "2", "Internal Server Error"}, {"default/web", "", "no answer"}, {"n1", "", ""},
	} {
		s := syncs[i]
		if s.Key != want.key || versions[s.Cause] != want.version || s.Error != want.failure {
			t.Errorf("sync %d: %+v, follows from version %q", i, s, versions[s.Cause])
		}
	}
	if syncs[1].Waited != 0 {
		t.Errorf("a write that was due later waited %s", syncs[1].Waited)
	}
	if p := newPlayed(nil); p.pods.queue != nil {
		t.Error("without a recorder, something is recorded")
	}
}

// The command of a Pod ends in a goroutine of its own. What is due then follows from the event
// for which the command was started or stopped.
func TestPlayedAfterACommand(t *testing.T) {
	o, p, deliver := newPlayedPod(t)
	now := time.Now()
	play := func() {
		p.pods.setRendered("default/web")
		p.pods.begin("default/web").End("")
	}
	deliver("1", dueStage{name: podStatusNow, at: now})
	play()
	deliver("2", dueStage{})
	p.pods.setDue("default/web", dueStage{name: podStatusNow, at: now}, now)
	play()
	deliver("3", dueStage{name: podDeleteLater, at: now.Add(time.Hour)})
	p.pods.setDue("default/web", dueStage{name: podDeleteNow, at: now}, now)
	play()

	expectCauses(t, o, "1", "1", "3")
}

// A write of a Stage follows from the version that kwok was given, not from that of an earlier write.
func TestPlayedStage(t *testing.T) {
	o, p, _ := newPlayedPod(t)
	r := newTestRegistry(t, testNode(nil))
	r.played = p
	pod := testPod(nil)
	deliver := func(version string, what dueStage) {
		pod = pod.DeepCopy()
		pod.ResourceVersion = version
		p.deliver(observe.Updated, "Pod", pod, func() {
			r.updatePod(pod, false, nil)
			r.assignPod(pod, what, nil)
		})
	}
	deliver("1", dueStage{name: podStatusNow, at: epoch})
	if _, patch, _, err := r.podPatch(pod.UID); len(patch) == 0 || err != nil {
		t.Errorf("patch %s: %v", patch, err)
	}
	p.pods.begin("n/p").End("")
	deliver("2", dueStage{name: userPrefix + "s", at: epoch, user: &drawnStage{stage: &userStage{}}})
	r.takePodStage(pod.UID)
	deliver("3", dueStage{name: podStatusNow, at: epoch})
	p.pods.begin("n/p").End("")

	expectCauses(t, o, "1", "2")
}

// What a user has asked for, as with "nodes fail", follows from no version of the Node.
func TestRequestsOfUsersAreNoSyncs(t *testing.T) {
	o, p, _ := newPlayedPod(t)
	r, err := http.NewRequestWithContext(observe.ForUser(t.Context()), http.MethodPatch, "http://none/api/v1/nodes/n1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (playedTransport{answeringTransport{recorder: p.recorder, status: 200}, p, nil}).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		if s, ok := r.Event.(*observe.Synced); ok {
			t.Errorf("it belongs to a sync: %+v", s)
		}
	}
}

// expectCauses checks from which versions of the object the writes follow.
func expectCauses(t *testing.T, o *observe.Observer, want ...string) {
	t.Helper()
	page, err := o.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	versions, causes := map[uint64]string{}, []string{}
	for _, r := range page.Records {
		switch e := r.Event.(type) {
		case *observe.Delivered:
			versions[r.Seq] = e.ResourceVersion
		case *observe.Synced:
			causes = append(causes, versions[e.Cause])
		}
	}
	if !slices.Equal(causes, want) {
		t.Errorf("the writes follow from the versions %q, want %q", causes, want)
	}
}
