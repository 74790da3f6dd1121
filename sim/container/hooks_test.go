package container

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestHooksAndProbes(t *testing.T) {
	exec := func(script string) *corev1.ExecAction {
		return &corev1.ExecAction{Command: []string{"sh", "-c", script}}
	}
	probe := func(script string) *corev1.Probe {
		// One failure ends the container: a busy machine must not cause it.
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec(script)}, PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 20}
	}
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap 'cat /tmp/stopped; exit 0' TERM; echo up; while true; do sleep 0.01; done")
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
	f.awaitLine(pod) // its trap is set
	f.awaitState(pod, func(s State) bool {
		if s.Phase == Ended {
			t.Fatalf("it has ended before it was ready: %+v", s)
		}
		return s.Ready
	})
	f.exec(pod, "touch /tmp/dead")
	if end := f.await(pod, Ended); end.ExitCode != 0 || f.logOf(pod) != "up\npre\n" {
		t.Errorf("after the liveness probe has failed: %+v, log %q", end, f.logOf(pod))
	}
}

// TestHookAndProbeCopyAFile has a hook and a probe that copy a file which the command of their container
// has made.
func TestHookAndProbeCopyAFile(t *testing.T) {
	copyTo := func(target string) corev1.ExecAction {
		return corev1.ExecAction{Command: []string{"cp", "/app/state", target}}
	}
	hook, probe := copyTo("/tmp/copy"), copyTo("/tmp/probed")
	f := newFixture(t)
	pod := newPod("sh", "-c", "trap 'cat /tmp/copy; exit 0' TERM; mkdir /app; echo up; until [ -e /tmp/go ]; do sleep 0.01; done; echo made >/app/state; while true; do sleep 0.01; done")
	c := &pod.Spec.Containers[0]
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &hook}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &probe}, PeriodSeconds: 1, TimeoutSeconds: 20}
	f.start(pod)
	f.awaitLine(pod)
	if state := f.await(pod, Running); state.Ready {
		t.Errorf("before there is a file: %+v", state)
	}
	f.exec(pod, "touch /tmp/go")
	f.awaitState(pod, func(s State) bool { return s.Ready })
	f.StopPod(pod, time.Now().Add(time.Minute))
	if f.await(pod, Ended); f.logOf(pod) != "up\nmade\n" {
		t.Errorf("log %q", f.logOf(pod))
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
		"fails": {hook: "echo secret; false", grace: time.Minute, code: 5, event: "FailedPreStopHook: PreStopHook failed"},
		// The hook does not run if the grace period is over before its goroutine runs.
		"takes all the time": {hook: "sleep 1000", grace: 2 * time.Second, code: 5, event: "FailedPreStopHook: PreStopHook failed"},
		"no grace period":    {hook: "false", code: 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			term := "exit 5"
			if test.code == 137 {
				term = ""
			}
			pod := newPod("sh", "-c", "trap '"+term+"' TERM; echo up; while true; do sleep 0.01; done")
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", test.hook}}}}
			f.start(pod)
			f.awaitLine(pod)
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

// TestLongHook has a preStop hook whose seconds overflow as nanoseconds: it lasts until the grace period ends.
func TestLongHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		pod := newPod("sleep", "infinity")
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: math.MaxInt64 / int64(time.Second) * 2}}}
		f.start(pod)
		f.StopPod(pod, time.Now().Add(time.Minute))
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if state := f.start(pod); state.Phase != Running {
			t.Errorf("during its grace period: %+v", state)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if state := f.start(pod); state.Phase != Ended {
			t.Errorf("after its grace period: %+v", state)
		}
		f.Stop()
	})
}

// TestStopDelay has a preStop hook that sleeps in a container without a command.
func TestStopDelay(t *testing.T) {
	for name, test := range map[string]struct {
		hook  corev1.LifecycleHandler
		grace time.Duration
		want  time.Duration
	}{
		"sleep":    {corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 20}}, 30 * time.Second, 20 * time.Second},
		"exec":     {corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep 20"}}}, 30 * time.Second, 20 * time.Second},
		"too long": {corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "infinity"}}}, 30 * time.Second, 30 * time.Second},
		"other":    {corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "nginx -s quit; sleep 20"}}}, 30 * time.Second, 0},
		"force":    {corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 20}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				pod := newPod()
				pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &test.hook}
				c := &pod.Spec.Containers[0]
				f.Run(Spec{Pod: pod, Container: c, StopDelay: StopDelay(c)})
				stopped := time.Now()
				f.StopPod(pod, stopped.Add(test.grace))
				for synctest.Wait(); f.Runs(pod.UID); synctest.Wait() {
					if time.Since(stopped) > time.Minute {
						t.Fatal("it does not stop")
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(stopped); took != test.want {
					t.Errorf("it stopped after %v, want %v", took, test.want)
				}
				f.Stop()
			})
		})
	}
}
