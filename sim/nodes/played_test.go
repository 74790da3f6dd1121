package nodes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// answeringTransport records a call and answers it.
type answeringTransport struct {
	recorder *observe.Recorder
	status   int
	message  string // of an error
	err      error
}

func (a answeringTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a.recorder.RecordCall(&observe.Called{Verb: "patch", Status: a.status})
	resp := &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Body: http.NoBody}
	if a.message != "" {
		answer := &metav1.Status{Status: metav1.StatusFailure, Message: a.message}
		body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(nil, nil), schema.GroupVersion{Version: "v1"}), answer)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, a.err
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
		p.deliver(observe.Updated, "Pod", nil, pod, func() { p.pods.setDue(podKey(pod), what, now) })
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
		resp, err := (playedTransport{answer, p, nil}).RoundTrip(r)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != answer.status || !strings.Contains(string(body), answer.message) {
			t.Errorf("%s %s: %v with %q: %v", method, path, resp, body, err)
		}
	}
	const refusal = `failed calling webhook "w.example.com": connection refused`
	const path = "/api/v1/namespaces/default/pods/web"
	deliver("1", dueStage{name: podStatusNow, at: now})
	p.pods.setRendered("default/web")
	deliver("2", dueStage{name: podStatusLater, at: now.Add(time.Hour)})
	send(http.MethodPatch, path+"/status", answeringTransport{status: 200})
	p.pods.setRendered("default/web")
	send(http.MethodDelete, path, answeringTransport{status: 500})
	send(http.MethodPatch, path+"/status", answeringTransport{status: 500, message: refusal})
	send(http.MethodPatch, path+"/status", answeringTransport{status: 403, message: refusal})
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
	if len(syncs) != 6 || inSync != 6 {
		t.Fatalf("%d syncs with %d calls, want 6 with 6: %+v", len(syncs), inSync, syncs)
	}
	for i, want := range []struct{ key, version, failure string }{
		{"default/web", "1", ""}, {"default/web", "2", "Internal Server Error"},
		{"default/web", "2", refusal}, {"default/web", "2", refusal}, {"default/web", "", "no answer"}, {"n1", "", ""},
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
		p.pods.begin(t.Context(), "default/web").End("")
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

// A write of a Stage follows from the version for which that is played, not from that of another write.
func TestPlayedStage(t *testing.T) {
	o, p, _ := newPlayedPod(t)
	r := newTestRegistry(t, testNode(nil))
	r.played = p
	pod := testPod(nil)
	inForce := func(*userStage) bool { return true }
	deliver := func(version string, what dueStage) {
		pod = pod.DeepCopy()
		pod.ResourceVersion = version
		p.deliver(observe.Updated, "Pod", nil, pod, func() {
			r.updatePod(pod, false, nil)
			r.assignPod(pod, what, inForce)
		})
	}
	deliver("1", dueStage{name: podStatusNow, at: epoch})
	if _, patch, _, err := r.podPatch(pod.UID); len(patch) == 0 || err != nil {
		t.Errorf("patch %s: %v", patch, err)
	}
	p.pods.begin(t.Context(), "n/p").End("")
	deliver("2", dueStage{name: userPrefix + "s", at: epoch, user: &drawnStage{stage: &userStage{}}})
	run := r.takePodStage(pod.UID, inForce)
	deliver("3", dueStage{name: podStatusNow, at: epoch})
	if _, _, _, err := r.podPatch(pod.UID); err != nil {
		t.Error(err)
	}
	p.pods.begin(t.Context(), "n/p").End("")
	p.pods.begin(withCause(t.Context(), run.cause), "n/p").End("")

	expectCauses(t, o, "1", "3", "2")
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

// A write of a Pod that has failed fails no more once the Pod is gone.
func TestForgottenPodDoesNotFail(t *testing.T) {
	o, p, deliver := newPlayedPod(t)
	failing := func() (list []observe.FailingKey) {
		s, err := o.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Controllers {
			list = append(list, c.Failing...)
		}
		return list
	}
	deliver("1", dueStage{name: podStatusNow, at: time.Now()})
	p.pods.begin(t.Context(), "default/web").End("refused")
	if list := failing(); len(list) != 1 || list[0].Error != "refused" {
		t.Errorf("failing: %+v", list)
	}
	p.pods.forget("default/web")
	if list := failing(); len(list) != 0 {
		t.Errorf("failing: %+v, although the Pod is gone", list)
	}

	deliver("2", dueStage{name: podStatusNow, at: time.Now()})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://none/api/v1/namespaces/default/pods/web/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	write := playedTransport{answeringTransport{recorder: p.recorder, err: errors.New("refused")}, p, nil}
	write.waitTurn = func(context.Context) { p.pods.forget("default/web") } // the write is in flight
	if _, err := write.RoundTrip(r); err == nil {
		t.Error("the write did not fail")
	}
	if list := failing(); len(list) != 0 {
		t.Errorf("failing: %+v, although the Pod was gone before its write ended", list)
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

// A version that the kubelets and a controller have received, and for which neither has done anything, is one record.
func TestUpdatesAreSharedWithControllers(t *testing.T) {
	now := metav1.Now()
	podNow := func(version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", ResourceVersion: version}}
	}
	ready, marked, tolerates := podNow("2"), podNow("2"), podNow("2")
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	marked.DeletionTimestamp = &now
	tolerates.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	for name, after := range map[string]*corev1.Pod{"Ready": ready, "marked as deleted": marked, "tolerations": tolerates, "anything else": podNow("2"), "resync": podNow("1")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // handlers take no time
				o := observe.New(observe.Options{})
				defer o.Close()
				begun := make(chan struct{})
				close(begun)
				registry := newPodRegistry(nodeShape{}, time.Now)
				registry.played = newPlayed(o.Recorder("kubelet"))
				registry.played.complete = recording.CompleteUpdate
				kubelets := &follower[*corev1.Pod]{ctx: t.Context(), to: &podFeed{ctx: t.Context(), registry: registry}, begun: begun}
				controller, _ := recording.ObserveEvents(cache.ResourceEventHandlerFuncs{}, corev1.SchemeGroupVersion.WithResource("pods"), false, o.Recorder("c"))
				for _, handler := range []cache.ResourceEventHandler{kubelets, controller} {
					handler.OnUpdate(podNow("1"), after)
				}
				page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindDelivered}, Reads: true})
				if err != nil || len(page.Records) != 1 {
					t.Errorf("got %d records, want 1; %v", len(page.Records), err)
				}
			})
		})
	}
}
