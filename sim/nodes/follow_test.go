package nodes

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// recordingFeed sends what it receives.
type recordingFeed struct{ to chan []string }

func (f recordingFeed) send(what string, pods ...*corev1.Pod) {
	call := []string{what}
	for _, pod := range pods {
		call = append(call, pod.Name)
		pod.Name = "changed" // allowed: it is a copy
	}
	f.to <- call
}

func (f recordingFeed) replace(list []*corev1.Pod) { f.send("list", list...) }
func (f recordingFeed) deliver(pod *corev1.Pod, change observe.Change, _ any) {
	f.send(string(change), pod)
}

func TestFollow(t *testing.T) {
	newPodOn := func(name, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	}
	client := fake.NewClientset(newPodOn("bound", "node-1"), newPodOn("waits", ""))
	pods, _ := runInformers(t, client)()
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := make(chan []string), make(chan error, 1)
	go func() { ended <- follow[*corev1.Pod](ctx, pods, isBound, recordingFeed{got}, nil) }()
	api := client.CoreV1().Pods("default")
	for _, step := range []struct {
		act  func() error
		want []string
	}{
		{func() error { return nil }, []string{"list", "bound"}},
		{func() error {
			_, err := api.Update(ctx, newPodOn("waits", "node-1"), metav1.UpdateOptions{})
			return err
		}, []string{"added", "waits"}},
		{func() error {
			_, err := api.Update(ctx, newPodOn("bound", "node-1"), metav1.UpdateOptions{})
			return err
		}, []string{"updated", "bound"}},
		{func() error { return api.Delete(ctx, "bound", metav1.DeleteOptions{}) }, []string{"deleted", "bound"}},
	} {
		if err := step.act(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, <-got); diff != "" {
			t.Errorf("the feed received (-want +got):\n%s", diff)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, exists, err := pods.GetStore().GetByKey("default/waits"); err != nil || !exists {
		t.Errorf("the feed changed an object of the informer: %v, %v", exists, err)
	}
}

// An informer reports another object of the same name as an update if it has missed the
// deletion of the first.
func TestFollowMissedReplacement(t *testing.T) {
	begun := make(chan struct{})
	close(begun)
	to := recordingFeed{make(chan []string, 2)}
	f := &follower[*corev1.Pod]{ctx: t.Context(), to: to, begun: begun}
	f.OnUpdate(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", UID: "1"}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "2"}})
	if diff := cmp.Diff([][]string{{"deleted", "old"}, {"added", "new"}}, [][]string{<-to.to, <-to.to}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The last state of an object is known although its deletion was missed.
func TestFollowMissedDeletion(t *testing.T) {
	begun := make(chan struct{})
	close(begun)
	f := &follower[*corev1.Pod]{ctx: t.Context(), to: recordingFeed{make(chan []string, 1)}, begun: begun}
	f.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}})
	if diff := cmp.Diff([]string{"deleted", "web"}, <-f.to.(recordingFeed).to); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A control plane is not settled while the kubelets have not received what was written.
func TestFollowMarksWhatItHasPassedOn(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	recorder := o.Recorder("kubelet")
	recorder.SetState(observe.ControllerChanged{State: "running"})
	isBehind := func() bool {
		s, err := o.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == "kubelet" })
		return i >= 0 && len(s.Controllers[i].Behind) > 0
	}
	client := fake.NewClientset()
	pods, _ := runInformers(t, client)()
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := make(chan []string), make(chan error, 1)
	progress := recorder.AddHandler("pods")
	go func() { ended <- follow[*corev1.Pod](ctx, pods, isBound, recordingFeed{got}, progress) }()
	<-got // the list
	const version = 7
	o.NoteVersion("pods", version)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: strconv.Itoa(version)}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !isBehind() { // the feed waits until the test receives
		t.Error("a write that was not passed on does not count")
	}
	<-got
	for isBehind() {
		if t.Context().Err() != nil {
			t.Fatal("the write was passed on, and still counts")
		}
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	o.NoteVersion("pods", version+1)
	if progress.Close(); isBehind() {
		t.Error("what has ended is behind")
	}
}
