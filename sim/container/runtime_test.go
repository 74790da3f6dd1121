package container

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
			if state := f.start(pod); !state.Command || state.Phase == Blocked {
				t.Errorf("at first: %+v", state)
			}
			end := f.await(pod, Ended)
			if end.ExitCode != test.code || end.Reason != test.reason || end.Message != test.message || f.logOf(pod) != test.log {
				t.Errorf("got %+v, log %q", end, f.logOf(pod))
			}
		})
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
			f.awaitLine(pod)
			if f.StopPod(pod, time.Now().Add(test.grace)).IsZero() {
				t.Error("stopped at once")
			}
			if end := f.await(pod, Ended); end.ExitCode != test.code || f.logOf(pod) != test.log {
				t.Errorf("got %+v, log %q", end, f.logOf(pod))
			}
			if !f.StopPod(pod, time.Now()).IsZero() {
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

// TestStopEndsAll checks that Stop waits for commands that do not want to end.
func TestStopEndsAll(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap '' TERM; echo up; while true; do sleep 0.01; done")
	f.start(pod)
	f.awaitLine(pod)
	log := f.Log(pod.UID, "c", 0)
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

var rootCA = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": "root\n"}}

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
