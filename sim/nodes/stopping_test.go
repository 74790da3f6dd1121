package nodes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

// commandsFixture runs the commands of a Pod; changed receives when one has changed.
func commandsFixture(t *testing.T) (at placement, changed chan struct{}) {
	t.Helper()
	return commandsFixtureWith(t, fake.NewClientset())
}

// commandsFixtureWith has a client for the objects that the Pods of a test refer to.
func commandsFixtureWith(t *testing.T, client kubernetes.Interface) (at placement, changed chan struct{}) {
	t.Helper()
	changed = make(chan struct{}, 1000)
	runtime := &container.Runtime{}
	runtime.Start(container.Config{
		Client:      client,
		Allocatable: func(string) corev1.ResourceList { return nil },
		OnChange:    func(string, string, types.UID) { changed <- struct{}{} },
		RecordEvent: func(*corev1.Pod, string, string, string, string) {},
	})
	t.Cleanup(runtime.Stop)
	at = testPlacement
	at.commands = commandRunner{runtime: runtime, mayStart: true}
	return at, changed
}

// play writes the statuses of a Pod that are due until it is as want says, and returns
// those that differ.
func play(t *testing.T, pod *corev1.Pod, at placement, changed chan struct{}, now func() time.Time, want string) []string {
	t.Helper()
	var lines []string
	deadline := time.After(patience)
	for {
		for {
			seen := pod.DeepCopy() // as from an informer: the commands keep it
			if nextPodStage(seen, at, now()).name != podStatusNow {
				break
			}
			pod.Status, _ = podStatus(seen, at, now())
			lines = append(lines, describePod(pod))
		}
		if len(lines) > 0 && lines[len(lines)-1] == want {
			return lines
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("got %q, waited for %q", lines, want)
		}
	}
}

// awaitUp waits until a command has set its trap.
func awaitUp(t *testing.T, pod *corev1.Pod, at placement, name string) {
	t.Helper()
	awaitLog(t, pod, at, name, 0)
}

// awaitLog waits until a run has written something.
func awaitLog(t *testing.T, pod *corev1.Pod, at placement, name string, run int32) {
	t.Helper()
	log := at.commands.runtime.Log(pod.UID, name, run)
	deadline := time.After(patience)
	for lines, _, changed := log.Read(0); len(lines) == 0; lines, _, changed = log.Read(0) {
		if changed == nil {
			t.Fatalf("run %d of %s has ended without a line", run, name)
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("run %d of %s has written no line", run, name)
		}
	}
}

// touch creates a file in the newest run of a Pod's first container.
func touch(t *testing.T, pod *corev1.Pod, at placement, file string) {
	t.Helper()
	s := pod.Status.ContainerStatuses[0]
	if err := at.commands.runtime.Exec(t.Context(), pod, s.Name, s.RestartCount, []string{"touch", file}, container.Streams{}); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd waits until the first run of a container has ended.
func awaitEnd(t *testing.T, pod *corev1.Pod, at placement, changed chan struct{}, name string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		state, _ := at.commands.runtime.State(pod.UID, name, 0)
		if state.Phase == container.Ended {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("container %s did not end: %+v", name, state)
		}
	}
}

const (
	traps = "trap 'exit 5' TERM; echo up; while true; do sleep 0.01; done"
	// untilGo ends when touch has made its file, so that a test decides what comes first.
	untilGo = "until [ -e /tmp/go ]; do sleep 0.01; done"
)

// TestDeadlineWaitsForCommands exceeds a deadline: the Pod is not ready any more, and fails when its commands
// have ended, with their exit codes. It is so if the Pod is deleted meanwhile, too.
func TestDeadlineWaitsForCommands(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600)
		p.Spec.Containers = []corev1.Container{{Name: "a", Command: []string{"sh", "-c", "trap '" + untilGo + "; exit 5' TERM; echo up; while true; do sleep 0.01; done"}}, {Name: "b", Command: []string{"sleep", "infinity"}}, {Name: "c"}}
	})
	var later time.Duration
	now := func() time.Time { return time.Now().Add(later) }
	play(t, pod, at, changed, now, "Running, ready, a: runs, b: runs, c: runs")
	awaitUp(t, pod, at, "a")
	later = time.Hour
	if due := nextPodStage(pod, at, now()); due.name != podStatusNow {
		t.Fatalf("at the deadline: %+v", due)
	}
	pod.Status, _ = podStatus(pod, at, now())
	const stops = "Running, a: runs, b: runs, c: runs: ContainersReady=False PodFailed, Initialized, PodReadyToStartContainers, PodScheduled, Ready=False PodFailed"
	if got := describePod(pod) + ": " + conditionReasons(pod.Status); got != stops {
		t.Errorf("got  %s\nwant %s", got, stops)
	}
	if due := nextPodStage(pod, at, now()); due.name != podStatusLater {
		t.Errorf("while the commands stop: %+v", due)
	}
	deleted := pod.DeepCopy()
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = new(metav1.NewTime(now())), ptr.To[int64](30)
	deleted.Status, _ = podStatus(deleted, at, now())
	if got := describePod(deleted) + ": " + conditionReasons(deleted.Status); got != stops {
		t.Errorf("deleted: got  %s\nwant %s", got, stops)
	}
	touch(t, pod, at, "/tmp/go")
	const failed = "Failed, DeadlineExceeded, a: exit 5, b: exit 143, c: exit 143"
	got := play(t, pod, at, changed, now, failed)
	if len(got) != 1 {
		t.Errorf("got %q", got)
	}
	if deleted.Status, _ = podStatus(deleted, at, now().Add(time.Hour)); describePod(deleted) != failed {
		t.Errorf("deleted: got  %s\nwant %s", describePod(deleted), failed)
	}
}

// TestSidecarsStopBeforeThePodEnds has a Pod that is Running until its sidecar has ended.
func TestSidecarsStopBeforeThePodEnds(t *testing.T) {
	at, changed := commandsFixture(t)
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always, Command: []string{"sh", "-c", traps}}}
		p.Spec.Containers = []corev1.Container{{Name: "a", Command: []string{"sh", "-c", untilGo}}}
	})
	play(t, pod, at, changed, time.Now, "Running, ready, s: runs, a: runs")
	awaitUp(t, pod, at, "s")
	touch(t, pod, at, "/tmp/go")
	got := play(t, pod, at, changed, time.Now, "Succeeded, s: exit 5, a: exit 0")
	for _, line := range got[:len(got)-1] {
		if !strings.HasPrefix(line, "Running") {
			t.Errorf("%q in %q", line, got)
		}
	}
}

func TestRestartRules(t *testing.T) {
	never, onFailure := corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure
	for name, test := range map[string]struct {
		change func(*corev1.Container)
		code   int32
		want   bool
	}{
		"policy of the pod":          {func(*corev1.Container) {}, 0, true},
		"never":                      {func(c *corev1.Container) { c.RestartPolicy = &never }, 1, false},
		"on failure, success":        {func(c *corev1.Container) { c.RestartPolicy = &onFailure }, 0, false},
		"on failure":                 {func(c *corev1.Container) { c.RestartPolicy = &onFailure }, 1, true},
		"a rule that matches":        {restartsOn(42), 42, true},
		"a rule that does not match": {restartsOn(42), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(func(p *corev1.Pod) { test.change(&p.Spec.Containers[0]) })
			if got := shouldRestart(pod, &pod.Spec.Containers[0], mainContainer, test.code); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func restartsOn(code int32) func(*corev1.Container) {
	never := corev1.ContainerRestartPolicyNever
	return func(c *corev1.Container) {
		c.RestartPolicy = &never
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestart,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
		}}
	}
}

// TestBackoffBeginsAgain has a run of more than ten minutes between short ones.
func TestBackoffBeginsAgain(t *testing.T) {
	ran := func(d time.Duration) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(epoch), FinishedAt: metav1.NewTime(epoch.Add(d))}
	}
	b := &restartBackoffs{}
	for i, test := range []struct{ ran, want time.Duration }{
		{time.Second, 0},
		{time.Second, 10 * time.Second},
		{10 * time.Minute, 20 * time.Second},
		{11 * time.Minute, 0},
		{time.Second, 10 * time.Second},
		{time.Second, 20 * time.Second},
	} {
		b.noteRun("c", int32(i), ran(test.ran))
		if got := b.delay("c", int32(i)); got != test.want {
			t.Errorf("after %d restarts: %v, want %v", i, got, test.want)
		}
	}
	if got := (*restartBackoffs)(nil).delay("c", 30); got != 5*time.Minute {
		t.Errorf("the longest delay is %v", got)
	}
}
