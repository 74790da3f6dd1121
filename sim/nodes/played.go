package nodes

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/observe"
)

// played records what the kubelets write as syncs of Pods and Nodes. A sync is caused
// by the event with which the version was delivered that the write follows from.
type played struct {
	recorder *observe.Recorder                             // nil = nothing is recorded
	complete func(e *observe.Delivered, before, after any) // as Config.CompleteUpdate; may be nil
	pods     playedKind
	nodes    playedKind
}

func newPlayed(recorder *observe.Recorder) *played {
	kind := func(queue string) playedKind {
		return playedKind{queue: recorder.KeyedQueue(queue), due: map[string]*observe.QueuedKey{}, last: map[string]*observe.QueuedKey{}, rendered: map[string]*observe.QueuedKey{}}
	}
	recorder.AddWatch("nodes")
	recorder.AddWatch("pods")
	return &played{recorder: recorder, pods: kind("pods"), nodes: kind("nodes")}
}

// deliver runs the handler of an event. before is the version before an update; otherwise nil.
func (p *played) deliver(change observe.Change, kind string, before any, object metav1.Object, handle func()) {
	if p.recorder == nil {
		handle()
		return
	}
	e := &observe.Delivered{
		Change: change, ResourceVersion: object.GetResourceVersion(),
		Object: observe.Object{
			Resource: strings.ToLower(kind) + "s", Kind: kind,
			Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()),
		},
	}
	if before != nil && p.complete != nil {
		p.complete(e, before, object)
	}
	p.recorder.Deliver(e, handle)
}

// playedKind has the events that writes follow from.
type playedKind struct {
	queue *observe.KeyedQueue

	mu       sync.Mutex
	due      map[string]*observe.QueuedKey // of the newest version of an object for which something is due
	last     map[string]*observe.QueuedKey // of the last version for which something was due
	rendered map[string]*observe.QueuedKey // of the version that the content of the next write was made from
}

// setDue says that something is due for an object because of the event that the
// calling goroutine handles; it is nothing if what has no name. A goroutine without an event
// tells that a command has changed, which follows from the event for which it was started or
// stopped.
func (k *playedKind) setDue(key string, what dueStage, now time.Time) {
	if k.queue == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if what.name == "" {
		delete(k.due, key)
		return
	}
	var later time.Time
	if what.at.After(now) {
		later = what.at
	}
	added := k.queue.Add(later)
	added.Because(k.last[key])
	k.due[key], k.last[key] = added, added
}

// newest returns what says that something is due for the newest version of an object.
func (k *playedKind) newest(key string) *observe.QueuedKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.due[key]
}

// setRendered says that the next write of the player is made from the newest version.
func (k *playedKind) setRendered(key string) {
	if k.queue == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rendered[key] = k.due[key]
}

func (k *playedKind) forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.due, key)
	delete(k.last, key)
	delete(k.rendered, key)
	k.queue.Forget(key) // what has failed for it is not tried again
}

// causeKey is the key of what the writes of a context follow from.
type causeKey struct{}

// withCause makes writes follow from a version of their object, not from that of the player's last write.
func withCause(ctx context.Context, cause *observe.QueuedKey) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

// begin begins the sync that a write belongs to.
func (k *playedKind) begin(ctx context.Context, key string) *observe.KeyedSync {
	if cause, ok := ctx.Value(causeKey{}).(*observe.QueuedKey); ok {
		return k.queue.Begin(key, cause)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queue.Begin(key, k.rendered[key])
}

// end ends the sync that a write belongs to. It may end after its object was forgotten.
func (k *playedKind) end(key string, sync *observe.KeyedSync, failure string) {
	sync.End(failure)
	k.mu.Lock()
	defer k.mu.Unlock()
	if failure != "" && k.last[key] == nil {
		k.queue.Forget(key)
	}
}

// playedTransport makes each write to a Pod or a Node a sync, unless a user has asked for it.
type playedTransport struct {
	next     http.RoundTripper
	played   *played
	waitTurn func(context.Context) // may be nil
}

// RoundTrip implements http.RoundTripper.
func (t playedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch && r.Method != http.MethodDelete || observe.IsForUser(r.Context()) {
		return t.next.RoundTrip(r)
	}
	kind, key := t.played.target(r.URL.Path)
	if kind == nil || kind.queue == nil {
		return t.next.RoundTrip(r)
	}
	sync := kind.begin(r.Context(), key)
	defer sync.Enter()()
	if t.waitTurn != nil && kind == &t.played.pods { // nodes would be taken for dead
		t.waitTurn(r.Context())
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK && kind == &t.played.pods {
		t.played.recordExits(r)
	}
	switch {
	case err != nil:
		kind.end(key, sync, err.Error())
	case resp.StatusCode >= http.StatusBadRequest && !meansObjectChanged(resp.StatusCode):
		kind.end(key, sync, describeFailure(resp))
	default:
		kind.end(key, sync, "")
	}
	return resp, err
}

// meansObjectChanged reports whether a write is answered so because its object was changed, replaced or deleted.
func meansObjectChanged(status int) bool {
	return status == http.StatusNotFound || status == http.StatusConflict
}

// describeFailure returns the message of an answer, which names the webhook or the policy that refuses a write. The body
// still reads from the start.
func describeFailure(resp *http.Response) string {
	read, _ := io.ReadAll(resp.Body) // who reads it next gets the error again
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), resp.Body), resp.Body}
	answer, _, err := scheme.Codecs.UniversalDeserializer().Decode(read, nil, nil)
	if status, ok := answer.(*metav1.Status); err == nil && ok && status.Message != "" {
		return status.Message
	}
	return resp.Status
}

// target returns the kind and the key of the object of a request; nil for another one.
func (p *played) target(path string) (kind *playedKind, key string) {
	part := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	switch {
	case len(part) >= 4 && part[0] == "namespaces" && part[2] == "pods":
		return &p.pods, part[1] + "/" + part[3]
	case len(part) >= 2 && part[0] == "nodes":
		return &p.nodes, part[1]
	}
	return nil, ""
}

func podKey(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
