package container

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

// fixture is a runtime whose changes a test can await.
type fixture struct {
	t *testing.T
	Runtime
	client  *fake.Clientset
	changes chan struct{}
	events  chan string
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, client: fake.NewClientset(objects...), changes: make(chan struct{}, 1000), events: make(chan string, 1000)}
	watchFromList(f.client)
	f.startWith(f.client)
	t.Cleanup(f.Stop)
	return f
}

func (f *fixture) startWith(client kubernetes.Interface) {
	f.Start(Config{
		Client:      client,
		Allocatable: func(string) corev1.ResourceList { return nil },
		OnChange:    func(string, string, types.UID) { f.changes <- struct{}{} },
		RecordEvent: func(_ *corev1.Pod, _, _, reason, message string) { f.events <- reason + ": " + message },
	})
}

// watchFromList makes watches begin with the list before them. Those of the fake know no
// versions: they miss what happens in between.
func watchFromList(client *fake.Clientset) {
	var mu sync.Mutex
	begun := map[schema.GroupVersionResource]watch.Interface{}
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		mu.Lock()
		defer mu.Unlock()
		begun[action.GetResource()] = w
		return err != nil, nil, err
	})
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		w := begun[action.GetResource()]
		delete(begun, action.GetResource())
		return w != nil, w, nil
	})
}

// await waits until the first run of container c is in a phase.
func (f *fixture) await(pod *corev1.Pod, phase Phase) State {
	f.t.Helper()
	return f.awaitContainer(pod, "c", phase)
}

// awaitContainer waits until the first run of a container is in a phase.
func (f *fixture) awaitContainer(pod *corev1.Pod, name string, phase Phase) State {
	f.t.Helper()
	return f.awaitRun(pod, name, 0, phase)
}

// awaitRun waits until a run of a container is in a phase.
func (f *fixture) awaitRun(pod *corev1.Pod, name string, number int32, phase Phase) State {
	f.t.Helper()
	return f.awaitRunState(pod, name, number, func(s State) bool { return s.Phase == phase })
}

func (f *fixture) start(pod *corev1.Pod) State {
	c := &pod.Spec.Containers[0]
	return f.Run(Spec{Pod: pod, Container: c, Args: c.Command})
}

// exec returns the output of a script.
func (f *fixture) exec(pod *corev1.Pod, script string) string {
	f.t.Helper()
	var out bytes.Buffer
	if err := f.Exec(f.t.Context(), pod, "c", 0, []string{"sh", "-c", script}, Streams{Stdout: &out, Stderr: &out}); err != nil {
		f.t.Errorf("%s: %v: %s", script, err, &out)
	}
	return out.String()
}

// awaitExec waits until a script prints want.
func (f *fixture) awaitExec(pod *corev1.Pod, script, want string) {
	f.t.Helper()
	f.awaitOutput(pod, script, want, func(got string) bool { return got == want })
}

// awaitFile waits until the first run of a container has a file.
func (f *fixture) awaitFile(pod *corev1.Pod, container, name string) {
	f.t.Helper()
	wait := []string{"sh", "-c", "until [ -e " + name + " ]; do sleep 0.01; done"}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	if err := f.Exec(ctx, pod, container, 0, wait, Streams{}); err != nil {
		f.t.Fatalf("container %s has no %s: %v", container, name, err)
	}
}

// awaitOutput waits until a script prints what is right; want describes that.
func (f *fixture) awaitOutput(pod *corev1.Pod, script, want string, isRight func(string) bool) {
	f.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for got := f.exec(pod, script); !isRight(got); got = f.exec(pod, script) {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("%s printed %q, waited for %q", script, got, want)
		}
	}
}

func newPod(command ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox", Command: command, TerminationMessagePath: "/dev/termination-log"}}},
	}
}

func (f *fixture) logOf(pod *corev1.Pod) string {
	log := f.Log(pod.UID, "c", 0)
	if log == nil {
		return "no log"
	}
	return log.tail(1000, 1<<20)
}

// awaitLine waits until the first run of container c has written a line, perhaps before
// the call.
func (f *fixture) awaitLine(pod *corev1.Pod) {
	f.t.Helper()
	f.awaitLineOf(pod, "c")
}

func (f *fixture) awaitLineOf(pod *corev1.Pod, container string) {
	f.t.Helper()
	log := f.Log(pod.UID, container, 0)
	deadline := time.After(patience)
	for lines, _, changed := log.Read(0); len(lines) == 0; lines, _, changed = log.Read(0) {
		if changed == nil {
			f.t.Fatal("the command has ended without a line")
		}
		select {
		case <-changed:
		case <-deadline:
			f.t.Fatal("no line in the log")
		}
	}
}

// awaitEvent waits for an event; others may come before it.
func (f *fixture) awaitEvent(t *testing.T, want string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case got := <-f.events:
			if got == want {
				return
			}
			t.Log(got)
		case <-deadline:
			t.Fatalf("waited for the event %q", want)
		}
	}
}

// awaitState waits until the state of the first run of container c is as it should be.
func (f *fixture) awaitState(pod *corev1.Pod, isRight func(State) bool) {
	f.t.Helper()
	f.awaitRunState(pod, "c", 0, isRight)
}

// awaitRunState waits until the state of a run is as it should be, and returns it.
func (f *fixture) awaitRunState(pod *corev1.Pod, container string, number int32, isRight func(State) bool) State {
	f.t.Helper()
	deadline := time.After(patience)
	for {
		state, _ := f.State(pod.UID, container, number)
		if isRight(state) {
			return state
		}
		select {
		case <-f.changes:
		case <-deadline:
			f.t.Fatalf("the state is %+v", state)
		}
	}
}

// awaitDeletion waits until the deletion of an object that a Pod depends on is known.
func (f *fixture) awaitDeletion(on podconfig.Reference) {
	f.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for f.session.lastState(on) == nil {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("the deletion of %s is not known", on.Name)
		}
	}
}

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second
