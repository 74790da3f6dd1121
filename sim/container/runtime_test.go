package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	utilexec "k8s.io/utils/exec"
)

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

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
	f.Start(Config{
		Client:      f.client,
		Allocatable: func(string) corev1.ResourceList { return nil },
		OnChange:    func(string, string, types.UID) { f.changes <- struct{}{} },
		RecordEvent: func(_ *corev1.Pod, _, _, reason, message string) { f.events <- reason + ": " + message },
	})
	t.Cleanup(f.Stop)
	return f
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
	deadline := time.After(patience)
	for {
		state, _ := f.State(pod.UID, name, 0)
		if state.Phase == phase {
			return state
		}
		select {
		case <-f.changes:
		case <-deadline:
			f.t.Fatalf("phase %d, waited for %d: %+v", state.Phase, phase, state)
		}
	}
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
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for got := f.exec(pod, script); got != want; got = f.exec(pod, script) {
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

func TestCommand(t *testing.T) {
	for name, test := range map[string]struct {
		command        []string
		code           int32
		reason         string
		log, message   string
		fallsBackToLog bool
	}{
		"success":            {command: []string{"echo", "hi"}, reason: "Completed", log: "hi\n"},
		"failure":            {command: []string{"sh", "-c", "echo a; echo b >&2; exit 3"}, code: 3, reason: "Error", log: "a\nb\n"},
		"message":            {command: []string{"sh", "-c", "echo x; echo why > /dev/termination-log; false"}, code: 1, reason: "Error", log: "x\n", message: "why\n"},
		"message of the log": {command: []string{"sh", "-c", "echo x; false"}, code: 1, reason: "Error", log: "x\n", message: "x\n", fallsBackToLog: true},
		"variables":          {command: []string{"sh", "-c", "echo $(A) $A $0", "$(NONE)"}, reason: "Completed", log: "1 1 $(NONE)\n"},
		"sleep":              {command: []string{"sleep", "0.01"}, reason: "Completed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod(test.command...)
			c := &pod.Spec.Containers[0]
			c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
			if test.fallsBackToLog {
				c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			}
			if state := f.start(pod); state.Phase != Running || !state.Command {
				t.Errorf("at first: %+v", state)
			}
			end := f.await(pod, Ended)
			if end.ExitCode != test.code || end.Reason != test.reason || end.Message != test.message || f.logOf(pod) != test.log {
				t.Errorf("got %+v, log %q", end, f.logOf(pod))
			}
		})
	}
}

func TestBlockedUntilObjectsExist(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "cat /v/*; echo $A")
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: new(int32(0o600))}}}}
	f.start(pod)
	f.await(pod, Blocked)
	if got := <-f.events; got != `FailedMount: MountVolume.SetUp failed for volume "v" : secret "s" not found` {
		t.Error(got)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"f": []byte("secret ")}}
	if _, err := f.client.CoreV1().Secrets("ns").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-f.events; got != `Failed: Error: configmap "m" not found` {
		t.Error(got)
	}
	if state := f.await(pod, Blocked); state.Reason != "CreateContainerConfigError" || state.Message != `configmap "m" not found` {
		t.Errorf("got %+v", state)
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "value"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(pod, Ended)
	if got := f.logOf(pod); got != "secret value\n" {
		t.Errorf("log: %q", got)
	}
}

// TestBlockedWhileAnotherStarts starts a container of a Pod while another is being prepared,
// or is blocked.
func TestBlockedWhileAnotherStarts(t *testing.T) {
	f := newFixture(t)
	run := func(pod *corev1.Pod, c *corev1.Container) { f.Run(Spec{Pod: pod, Container: c, Args: c.Command}) }
	pod := newPod("echo", "$(A)")
	waits := &pod.Spec.Containers[0]
	waits.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"}}}}
	sleeps := corev1.Container{Name: "s", Image: "busybox", Command: []string{"sleep", "infinity"}}
	pod.Spec.Containers = append(pod.Spec.Containers, sleeps)
	run(pod, waits)
	f.await(pod, Blocked)
	run(pod, &sleeps)
	f.awaitContainer(pod, "s", Running)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "value"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(pod, Ended)

	for i := range 200 { // each has two events, which the fixture keeps
		pod := newPod()
		pod.UID = types.UID(fmt.Sprint(i))
		invalid := &pod.Spec.Containers[0]
		invalid.Image = "x y"
		pod.Spec.Containers = append(pod.Spec.Containers, sleeps)
		run(pod, invalid)
		run(pod, &sleeps)
		f.await(pod, Blocked)
		f.Remove(pod.UID)
	}
}

// TestBlockedByTheNameOfTheImage corrects the image, also of a container without a command.
func TestBlockedByTheNameOfTheImage(t *testing.T) {
	for name, command := range map[string][]string{"command": {"echo", "hi"}, "no command": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod(command...)
			pod.Spec.Containers[0].Image = "busybox latest"
			f.start(pod)
			const message = `Failed to apply default image tag "busybox latest": couldn't parse image name "busybox latest": invalid reference format`
			if state := f.await(pod, Blocked); state.Reason != "InvalidImageName" || state.Message != message {
				t.Errorf("got %+v", state)
			}
			for _, want := range []string{"InspectFailed: " + message, "Failed: Error: InvalidImageName"} {
				if got := <-f.events; got != want {
					t.Errorf("event %q, want %q", got, want)
				}
			}
			pod = pod.DeepCopy()
			pod.Spec.Containers[0].Image = "busybox:latest"
			f.start(pod)
			if command == nil {
				f.await(pod, Running)
			} else if f.await(pod, Ended); f.logOf(pod) != "hi\n" {
				t.Errorf("log: %q", f.logOf(pod))
			}
		})
	}
}

// TestBlockedByItsUser has a container that must not run as root, and a Pod that runs as root.
func TestBlockedByItsUser(t *testing.T) {
	f := newFixture(t)
	pod := newPod("id")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
	f.start(pod)
	const message = `container's runAsUser breaks non-root policy (pod: "p_ns(u)", container: c)`
	if state := f.await(pod, Blocked); state.Reason != "CreateContainerConfigError" || state.Message != message {
		t.Errorf("got %+v", state)
	}
	if got := <-f.events; got != "Failed: Error: "+message {
		t.Errorf("event %q", got)
	}
}

// TestBlockedUntilVolumesExist has no watch that tells that the volume exists.
func TestBlockedUntilVolumesExist(t *testing.T) {
	claim := newClaim("claim")
	claim.Status.Phase = corev1.ClaimPending
	f := newFixture(t, claim, newVolume())
	pod := newPod("sh", "-c", "cat /ca/ca.crt; ls /claim")
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = []corev1.VolumeMount{{Name: "ca", MountPath: "/ca"}, {Name: "claim", MountPath: "/claim"}}
	ca := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "ca", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{ca}}}},
		{Name: "claim", VolumeSource: claimSource("claim")},
	}
	f.start(pod)
	if state := f.await(pod, Blocked); state.Reason != "ContainerCreating" {
		t.Errorf("got %+v", state)
	}
	if got := <-f.events; got != `FailedMount: MountVolume.SetUp failed for volume "ca" : configmap "kube-root-ca.crt" not found` {
		t.Error(got)
	}
	root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": "root\n"}}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), root, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err := f.client.CoreV1().PersistentVolumeClaims("ns").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "root\n" {
		t.Errorf("got %+v, log %q", end, f.logOf(pod))
	}
}

func TestStop(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		grace  time.Duration
		code   int32
		log    string
	}{
		"trap":            {script: "trap 'echo bye; exit 5' TERM; echo up; while true; do sleep 0.01; done", grace: time.Minute, code: 5, log: "up\nbye\n"},
		"no trap":         {script: "echo up; sleep 1000; echo not reached", grace: time.Minute, code: 143, log: "up\n"},
		"ignores SIGTERM": {script: "trap '' TERM; echo up; while true; do sleep 0.01; done", grace: 50 * time.Millisecond, code: 137, log: "up\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			pod := newPod("sh", "-c", test.script)
			f.start(pod)
			_, _, changed := f.Log(pod.UID, "c", 0).Read(0)
			<-changed
			if f.StopPod(pod, time.Now().Add(test.grace)) {
				t.Error("stopped at once")
			}
			if end := f.await(pod, Ended); end.ExitCode != test.code || f.logOf(pod) != test.log {
				t.Errorf("got %+v, log %q", end, f.logOf(pod))
			}
			if !f.StopPod(pod, time.Now()) {
				t.Error("not stopped")
			}
		})
	}
	t.Run("a sleep", func(t *testing.T) {
		f := newFixture(t)
		pod := newPod("sleep", "infinity")
		f.start(pod)
		f.StopPod(pod, time.Now().Add(time.Minute))
		if end := f.await(pod, Ended); end.ExitCode != 143 {
			t.Errorf("got %+v", end)
		}
	})
}

func TestHooksAndProbes(t *testing.T) {
	exec := func(script string) *corev1.ExecAction {
		return &corev1.ExecAction{Command: []string{"sh", "-c", script}}
	}
	probe := func(script string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec(script)}, PeriodSeconds: 1, FailureThreshold: 1}
	}
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap 'cat /tmp/stopped; exit 0' TERM; while true; do sleep 0.01; done")
	c := &pod.Spec.Containers[0]
	c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: exec("echo post > /tmp/started")}, PreStop: &corev1.LifecycleHandler{Exec: exec("echo pre > /tmp/stopped")}}
	c.ReadinessProbe, c.LivenessProbe = probe("test -e /tmp/ready"), probe("test ! -e /tmp/dead")
	f.start(pod)
	if state := f.await(pod, Running); state.Ready || !state.Started {
		t.Errorf("before it is ready: %+v", state)
	}
	if got := f.exec(pod, "cat /tmp/started; touch /tmp/ready"); got != "post\n" {
		t.Errorf("postStart: %q", got)
	}
	for state, _ := f.State(pod.UID, "c", 0); !state.Ready; state, _ = f.State(pod.UID, "c", 0) {
		<-f.changes
	}
	f.exec(pod, "touch /tmp/dead")
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "pre\n" {
		t.Errorf("after the liveness probe has failed: %+v, log %q", end, f.logOf(pod))
	}
}

func TestPostStartFails(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "while true; do sleep 0.01; done")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo no; exit 9"}}}}
	f.start(pod)
	if end := f.await(pod, Ended); end.ExitCode != 143 {
		t.Errorf("got %+v", end)
	}
	if got := <-f.events; got != "FailedPostStartHook: PostStartHook failed" {
		t.Errorf("event %q", got)
	}
}

func TestPreStop(t *testing.T) {
	for name, test := range map[string]struct {
		hook  string
		grace time.Duration
		code  int32
		event string
	}{
		"fails":              {hook: "echo secret; false", grace: time.Minute, code: 5, event: "FailedPreStopHook: PreStopHook failed"},
		"takes all the time": {hook: "sleep 1000", grace: 50 * time.Millisecond, code: 5},
		"no grace period":    {hook: "false", code: 137},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			term := "exit 5"
			if test.code == 137 {
				term = ""
			}
			pod := newPod("sh", "-c", "trap '"+term+"' TERM; echo up; while true; do sleep 0.01; done")
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", test.hook}}}}
			f.start(pod)
			_, _, changed := f.Log(pod.UID, "c", 0).Read(0)
			<-changed
			f.StopPod(pod, time.Now().Add(test.grace))
			if end := f.await(pod, Ended); end.ExitCode != test.code {
				t.Errorf("got %+v", end)
			}
			event := ""
			if len(f.events) > 0 {
				event = <-f.events
			}
			if event != test.event {
				t.Errorf("event %q, want %q", event, test.event)
			}
		})
	}
}

func TestExec(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	if got := f.exec(pod, "echo $A > /tmp/x; cat /tmp/x; hostname"); got != "1\np\n" {
		t.Errorf("got %q", got)
	}
	if got := f.exec(pod, "cat /tmp/x"); got != "1\n" {
		t.Errorf("files do not stay: %q", got)
	}
	var out bytes.Buffer
	err := f.Exec(t.Context(), pod, "c", 0, []string{"cat"}, Streams{Stdin: strings.NewReader("in"), Stdout: &out})
	if err != nil || out.String() != "in" {
		t.Errorf("cat: %v, %q", err, &out)
	}
	err = f.Exec(t.Context(), pod, "c", 0, []string{"sh", "-c", "exit 7"}, Streams{})
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); !ok || exit.Code != 7 {
		t.Errorf("exit: %v", err)
	}
	if err := f.Exec(t.Context(), pod, "c", 0, []string{"nginx"}, Streams{}); err == nil || !strings.Contains(err.Error(), "executable file not found in $PATH") {
		t.Errorf("unknown program: %v", err)
	}
}

func TestAttach(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "read x; echo got $x")
	pod.Spec.Containers[0].Stdin, pod.Spec.Containers[0].StdinOnce = true, true
	f.start(pod)
	var out bytes.Buffer
	if err := f.Attach(t.Context(), pod, "c", 0, Streams{Stdin: strings.NewReader("line\n"), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "got line\n" || f.logOf(pod) != "got line\n" {
		t.Errorf("output %q, log %q", &out, f.logOf(pod))
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	sleeper := newPod("sleep", "infinity")
	sleeper.UID = "other"
	f.start(sleeper)
	if err := f.Attach(gone, sleeper, "c", 0, Streams{Stdout: io.Discard}); err != nil {
		t.Errorf("a client that leaves: %v", err)
	}
}

// blockedWriter is a client that does not read.
type blockedWriter struct{ released chan struct{} }

func (w blockedWriter) Write(p []byte) (int, error) {
	<-w.released
	return 0, io.ErrClosedPipe
}

func TestClientThatDoesNotRead(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "read x; echo a; echo b; sleep 1000")
	pod.Spec.Containers[0].Stdin = true
	f.start(pod)
	w := blockedWriter{make(chan struct{})}
	defer close(w.released)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- f.Attach(ctx, pod, "c", 0, Streams{Stdin: strings.NewReader("x\n"), Stdout: w}) }()
	for {
		_, _, changed := f.Log(pod.UID, "c", 0).Read(0)
		if f.logOf(pod) == "a\nb\n" {
			break
		}
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("the client blocks the command: %q", f.logOf(pod))
		}
	}
	f.StopPod(pod, time.Now().Add(time.Minute))
	f.await(pod, Ended)
	leave()
	if err := <-left; err != nil {
		t.Error(err)
	}
}

func TestRemoveEndsASleep(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sleep", "infinity")
	f.start(pod)
	log := f.Log(pod.UID, "c", 0)
	_, _, changed := log.Read(0)
	f.Remove(pod.UID)
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("the log is open")
	}
	if _, _, changed := log.Read(0); changed != nil {
		t.Error("the log is open")
	}
}

// TestKillContainers ends the command of a container, which runs again with the files of
// its volumes.
func TestKillContainers(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap '' TERM; while :; do sleep 100; done")
	pod.Spec.Volumes = []corev1.Volume{{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "empty", MountPath: "/empty"}}
	f.start(pod)
	f.await(pod, Running)
	f.exec(pod, "echo stays > /empty/f")
	f.KillContainers(pod.UID, []string{"c"})
	if end := f.await(pod, Ended); end.ExitCode != 137 {
		t.Errorf("got %+v", end)
	}
	c := &pod.Spec.Containers[0]
	if state := f.Run(Spec{Pod: pod, Container: c, Args: []string{"sleep", "100"}, Number: 1}); state.Phase != Running {
		t.Errorf("the next run: %+v", state)
	}
	var out bytes.Buffer
	if err := f.Exec(t.Context(), pod, "c", 1, []string{"cat", "/empty/f"}, Streams{Stdout: &out}); err != nil || out.String() != "stays\n" {
		t.Errorf("the volume holds %q, %v", &out, err)
	}
}

func TestVolumesFollowTheirSources(t *testing.T) {
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"a": "1", "b": "2"}}
	f := newFixture(t, settings)
	pod := newPod("sleep", "infinity")
	mode := new(int32(0o440))
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: mode}}},
		{Name: "d", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{DefaultMode: mode, Items: []corev1.DownwardAPIVolumeFile{{Path: "l", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "d", MountPath: "/d"}, {Name: "v", MountPath: "/sub/file", SubPath: "a"}}
	f.start(pod)
	f.await(pod, Running)
	if got := f.exec(pod, "cd /v; cat a b /sub/file; readlink a; (echo x > a) 2>/dev/null || echo read-only; cat /d/l"); got != "121..data/a\nread-only\napp=\"a\"" {
		t.Errorf("got %q", got)
	}
	settings.Data = map[string]string{"a": "new", "c": "3"}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitExec(pod, "cd /v; echo *; cat a /sub/file 2>/dev/null || :", "a c\nnew1")
	changed := pod.DeepCopy()
	changed.Labels["app"] = "b"
	f.Update(changed)
	f.awaitExec(pod, "cat /d/l 2>/dev/null || :", `app="b"`)
}

func TestVolumesThatStay(t *testing.T) {
	f := newFixture(t, newClaim("claim"), newVolume())
	pod := newPod()
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "claim", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "claim", MountPath: "/claim"}, {Name: "empty", MountPath: "/empty"}, {Name: "claim", MountPath: "/sub", SubPath: "x/y"}}
	f.exec(pod, "echo data > /claim/f; echo data > /empty/f; echo data > /sub/f; cat /claim/x/y/f")
	f.Remove(pod.UID)
	pod.UID = "next"
	if got := f.exec(pod, "cat /claim/f; ls /empty; cat /sub/f"); got != "data\ndata\n" {
		t.Errorf("got %q", got)
	}
	if err := f.client.CoreV1().PersistentVolumes().Delete(t.Context(), "pv", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.CoreV1().PersistentVolumes().Create(t.Context(), newVolume(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for data := "data\n"; data != "gone\n"; data = f.exec(pod, "cat /claim/f 2>/dev/null || echo gone") {
		f.Remove(pod.UID)
	}
}

func TestFoldersOfANode(t *testing.T) {
	f := newFixture(t)
	pod := newPod()
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	f.exec(pod, "echo data > /v/f")
	for _, want := range []string{"data\n", "gone\n"} {
		f.Remove(pod.UID)
		if got := f.exec(pod, "cat /v/f 2>/dev/null || echo gone"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		f.RemoveNode("n")
	}
}

// newVolume returns a PersistentVolume that is bound to newClaim("claim").
func newVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "ns", Name: "claim", UID: "claim"}}}
}

func newClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func TestVolumesOfOthers(t *testing.T) {
	thief := newClaim("thief")
	unbound := newClaim("claim")
	unbound.Status.Phase = corev1.ClaimLost
	ephemeral := newClaim("p-v")
	lost := newVolume()
	lost.Spec.ClaimRef.UID = "p-v"
	for name, test := range map[string]struct {
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		source corev1.VolumeSource
		want   string
	}{
		"of another claim": {thief, newVolume(), claimSource("thief"), "found PV object pv but its pv.Spec.ClaimRef does not point to claim.UID thief"},
		"unbound":          {unbound, newVolume(), claimSource("claim"), "PVC is not bound"},
		"no volume":        {newClaim("claim"), &corev1.PersistentVolume{}, claimSource("claim"), `failed to fetch PV pv from API server: persistentvolumes "pv" not found`},
		"of no Pod":        {ephemeral, lost, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, "PVC ns/p-v was not created for pod ns/p (pod is not owner)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.claim, test.volume)
			pod := newPod()
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: test.source}}
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
			err := f.Exec(t.Context(), pod, "c", 0, []string{"true"}, Streams{})
			if want := `MountVolume.SetUp failed for volume "v" : ` + test.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestVolumesOfAPodAreBounded(t *testing.T) {
	large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": strings.Repeat("x", 1<<20)}}
	f := newFixture(t, large)
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, DefaultMode: new(int32(0o444))}
	for i := range 33 {
		source.Items = append(source.Items, corev1.KeyToPath{Key: "k", Path: strings.Repeat("f", i+1)})
	}
	pod := newPod()
	for _, name := range []string{"a", "b"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	err := f.Exec(t.Context(), pod, "c", 0, []string{"true"}, Streams{})
	if err == nil || !strings.Contains(err.Error(), `volume "b" : the volumes of the pod hold more than 67108864 bytes`) {
		t.Errorf("got %v", err)
	}
}

func claimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// TestStopEndsAll checks that Stop waits for commands that do not want to end.
func TestStopEndsAll(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap '' TERM; echo up; while true; do sleep 0.01; done")
	f.start(pod)
	log := f.Log(pod.UID, "c", 0)
	_, _, changed := log.Read(0)
	<-changed
	f.Stop()
	if _, _, changed := log.Read(0); changed != nil {
		t.Error("the log is open")
	}
	if _, known := f.State(pod.UID, "c", 0); known {
		t.Error("the run is known")
	}
}

// TestRemoveWhileStopping removes a Pod whose command sleeps while its hook runs: Stop,
// which waits for all that runs, must return.
func TestRemoveWhileStopping(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sleep", "infinity")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "1000"}}}}
	f.start(pod)
	f.StopPod(pod, time.Now().Add(time.Hour))
	f.Remove(pod.UID)
	f.Stop()
}

// serviceAccountPod returns a Pod with the volume that the API server adds to each.
func serviceAccountPod(expires int64, command ...string) *corev1.Pod {
	pod := newPod(command...)
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "api", MountPath: "/api", ReadOnly: true}}
	ca := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}
	token := corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expires}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{token, ca},
	}}}}
	return pod
}

// countTokens answers requests for tokens with their number.
func (f *fixture) countTokens() *atomic.Int64 {
	made := &atomic.Int64{}
	f.client.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		request := &authenticationv1.TokenRequest{}
		request.Status.Token = fmt.Sprintf("token-%d", made.Add(1))
		return true, request, nil
	})
	return made
}

var rootCA = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": "root\n"}}

// TestTokensAreMadeWhenUsed runs commands that read their token, and that do not.
func TestTokensAreMadeWhenUsed(t *testing.T) {
	for script, want := range map[string]int64{"echo hi; ls /tmp": 0, "cat /api/token; cat /api/ca.crt": 1, "ls /api": 1} {
		f := newFixture(t, rootCA)
		made := f.countTokens()
		pod := serviceAccountPod(3600, "sh", "-c", script)
		f.start(pod)
		if end := f.await(pod, Ended); end.ExitCode != 0 || made.Load() != want {
			t.Errorf("%s: got %+v, %d tokens, want %d: %s", script, end, made.Load(), want, f.logOf(pod))
		}
	}
}

// TestNoPreparationIfTheRootCAIsKnown starts a second Pod of a namespace at once.
func TestNoPreparationIfTheRootCAIsKnown(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	if state := f.start(pod); state.Phase != Preparing {
		t.Errorf("the first: %+v", state)
	}
	f.await(pod, Ended)
	second := pod.DeepCopy()
	second.UID = "second"
	if state := f.start(second); state.Phase != Running {
		t.Errorf("the second: %+v", state)
	}
}

// TestRootCAIsKnownAfterAPodHasFinished starts a Pod of a namespace whose other Pods have
// finished, like those of Jobs.
func TestRootCAIsKnownAfterAPodHasFinished(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	f.start(pod)
	f.await(pod, Ended)
	for range 2 { // it is called at each update of a Pod that has finished
		f.StopPod(pod, time.Now())
	}
	second := pod.DeepCopy()
	second.UID = "second"
	if state := f.start(second); state.Phase != Running {
		t.Errorf("got %+v", state)
	}
	f.await(second, Ended)
}

// TestRootCAIsForgottenWithTheLastPod starts a Pod of a namespace that has been created
// again and has no certificate yet.
func TestRootCAIsForgottenWithTheLastPod(t *testing.T) {
	f := newFixture(t, rootCA)
	pod := serviceAccountPod(3600, "true")
	f.start(pod)
	f.await(pod, Ended)
	f.Remove(pod.UID)
	if err := f.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), rootCA.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := pod.DeepCopy()
	again.UID = "again"
	f.start(again)
	if state := f.await(again, Blocked); state.Reason != "ContainerCreating" {
		t.Errorf("got %+v", state)
	}
	if _, err := f.client.CoreV1().ConfigMaps("ns").Create(t.Context(), rootCA, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await(again, Ended)
}

func TestTokensAreRenewed(t *testing.T) {
	f := newFixture(t, rootCA)
	f.countTokens()
	pod := serviceAccountPod(1, "sh", "-c", "sleep 1000; true")
	f.start(pod)
	f.await(pod, Running)
	f.awaitExec(pod, "cat /api/token", "token-1")
	f.awaitExec(pod, "cat /api/token", "token-2")
	f.awaitExec(pod, "cat /api/token", "token-3")
}

// TestKillFirstProcess ends what does not run in the shell from a shell.
func TestKillFirstProcess(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		kill string
		ps   string
		code int32
	}{
		"a sleep":   {newPod("sleep", "infinity"), "kill 1", "sleep infinity", 143},
		"a server":  {newPod(), "kill -9 1", "(simulated)", 137},
		"no signal": {newPod("sleep", "infinity"), "kill -0 1; kill -CHLD 1; kill -INT 1", "sleep infinity", 130},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.start(test.pod)
			if got := f.exec(test.pod, "ps | head -2 | tail -1; test $$ -gt 1 && echo more"); got != "    1 root      0:00 "+test.ps+"\nmore\n" {
				t.Errorf("processes: %q", got)
			}
			_ = f.Exec(t.Context(), test.pod, "c", 0, []string{"sh", "-c", test.kill}, Streams{}) // the end of the container may end it
			if end := f.await(test.pod, Ended); end.ExitCode != test.code || !end.Decides() {
				t.Errorf("got %+v", end)
			}
		})
	}
}
