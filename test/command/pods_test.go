package command_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// commandManifest has Pods whose commands run, and what they refer to.
const commandManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast, greet.sh: "#!/bin/sh\necho hello from $0\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: s3cret}
---
apiVersion: v1
kind: Pod
metadata: {name: shown, labels: {app: shown}}
spec:
  restartPolicy: Never
  initContainers:
  - name: prepare
    image: busybox
    command: [sh, -c, 'echo from init > /data/file']
    volumeMounts: [{name: work, mountPath: /data}]
  containers:
  - name: main
    image: busybox
    command: [sh, -c]
    args:
    - |
      echo mode=$MODE expanded=$(MODE)/$(POD) password=$CONFIG_password limit=$LIMIT
      cat /data/file /settings/mode
      ls /var/run/secrets/kubernetes.io/serviceaccount
      grep $(hostname) /etc/hosts
      echo to stderr >&2
      echo done > /dev/termination-log
      exit 3
    env:
    - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
    envFrom: [{prefix: CONFIG_, secretRef: {name: login}}]
    resources: {limits: {memory: 64Mi}}
    volumeMounts: [{name: work, mountPath: /data}, {name: settings, mountPath: /settings}]
  volumes:
  - {name: work, emptyDir: {}}
  - {name: settings, configMap: {name: settings}}
---
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: busybox
    command: [sh, -c, 'echo late=$LATE']
    env: [{name: LATE, valueFrom: {configMapKeyRef: {name: late, key: value}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: crashes}
spec:
  containers: [{name: main, image: busybox, command: [sh, -c, 'echo run; exit 7']}]
---
apiVersion: v1
kind: Pod
metadata: {name: probed}
spec:
  terminationGracePeriodSeconds: 3600
  containers:
  - name: main
    image: busybox
    command: [sh, -c, 'trap "echo stopping; exit 0" TERM; while true; do sleep 1; done']
    readinessProbe: {exec: {command: [cat, /tmp/ready]}, periodSeconds: 1}
    lifecycle: {postStart: {exec: {command: [sh, -c, 'echo started > /tmp/hook']}}}
---
apiVersion: v1
kind: Pod
metadata: {name: scripted, annotations: {ctrlplane.local/run: 'echo scripted; sleep infinity'}}
spec:
  containers: [{name: main, image: nginx}]
---
apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  containers: [{name: main, image: nginx}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: fails}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sh, -c, 'echo tried; exit 1']}]}}
`

// readerOverrides make a Pod that waits for a change of a file.
const readerOverrides = `{"spec": {
	"containers": [{"name": "reader", "image": "busybox", "volumeMounts": [{"name": "v", "mountPath": "/v"}],
		"command": ["sh", "-c", "until grep -q slow /v/mode; do sleep 0.1; done; cat /v/mode; echo"]}],
	"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}`

// awaitPod waits until a Pod in the namespace default is as it has to be, and returns it.
func awaitPod(t *testing.T, p *program.ControlPlane, name, what string, done func(*corev1.Pod) bool) (pod *corev1.Pod) {
	t.Helper()
	pods := p.Client(t).CoreV1().Pods("default")
	p.Await(t, "with Pod "+name+" "+what, func() bool {
		var err error
		if pod, err = pods.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return done(pod)
	})
	return pod
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return pod.Status.Phase == phase }
}

// waitingFor returns whether the first container of a Pod waits for a reason.
func waitingFor(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		all := pod.Status.ContainerStatuses
		return len(all) > 0 && all[0].State.Waiting != nil && all[0].State.Waiting.Reason == reason
	}
}

func isReady(pod *corev1.Pod) bool { return hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) }

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// TestKubectlPods looks into Pods with kubectl: their commands run, and fail, as in
// containers.
func TestKubectlPods(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := program.Up(t, dir, "--nodes", "1")
	file := filepath.Join(t.TempDir(), "pods.yaml")
	testutil.WriteFile(t, file, commandManifest)
	kubectl := func(t *testing.T, args ...string) string {
		t.Helper()
		return program.MustRun(t, dir, append([]string{"kubectl"}, args...)...)
	}
	expect := func(t *testing.T, want, args string) {
		t.Helper()
		if got := kubectl(t, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("kubectl %s: %q does not contain %q", args, got, want)
		}
	}
	awaitOutput := func(t *testing.T, want, args string) {
		t.Helper()
		p.Await(t, "printing "+want, func() bool {
			got, _, _ := program.Run(t, program.Command(t, append([]string{"--data-dir", dir, "kubectl"}, strings.Fields(args)...)...))
			return strings.Contains(got, want)
		})
	}
	t.Run("Pods are watched once", func(t *testing.T) { testPodsAreWatchedOnce(t, p) })
	await := func(t *testing.T, name, what string, done func(*corev1.Pod) bool) *corev1.Pod {
		t.Helper()
		return awaitPod(t, p, name, what, done)
	}
	p.Await(t, "able to create Pods", func() bool {
		_, err := p.Client(t).CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	kubectl(t, "apply", "-f", file)

	t.Run("environment, volumes and exit code", func(t *testing.T) {
		shown := await(t, "shown", "failed", inPhase(corev1.PodFailed))
		const want = "mode=fast expanded=fast/shown password=s3cret limit=64\nfrom init\nfastca.crt\nnamespace\ntoken\n"
		got := kubectl(t, "logs", "shown")
		if !strings.HasPrefix(got, want) || !strings.Contains(got, "\tshown\n") || !strings.HasSuffix(got, "to stderr\n") {
			t.Errorf("log: %q, want it to begin with %q", got, want)
		}
		if end := shown.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 || end.Reason != "Error" || end.Message != "done\n" {
			t.Errorf("terminated: %+v", end)
		}
		expect(t, "to stderr", "logs shown --tail=1")
		awaitEvent(t, p, "shown", "simulated shell")
	})
	t.Run("a ConfigMap that appears late", func(t *testing.T) {
		waits := await(t, "waits", "waiting for a ConfigMap", waitingFor("CreateContainerConfigError"))
		requireText(t, waits.Status.ContainerStatuses[0].State.Waiting.Message, `configmap "late" not found`)
		late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string]string{"value": "here"}}
		if _, err := p.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "waits", "done", inPhase(corev1.PodSucceeded))
		expect(t, "late=here\n", "logs waits")
	})
	t.Run("a crash", func(t *testing.T) {
		crashes := await(t, "crashes", "in a crash loop", waitingFor("CrashLoopBackOff"))
		if end := crashes.Status.ContainerStatuses[0].LastTerminationState.Terminated; end == nil || end.ExitCode != 7 {
			t.Errorf("terminated: %+v", end)
		}
		expect(t, "run\n", "logs crashes --previous")
	})
	t.Run("a probe, a hook and a trap", func(t *testing.T) {
		await(t, "probed", "running", inPhase(corev1.PodRunning))
		awaitOutput(t, "started\n", "exec probed -- cat /tmp/hook")
		if probed := await(t, "probed", "running", inPhase(corev1.PodRunning)); probed.Status.ContainerStatuses[0].Ready {
			t.Error("ready although its probe fails")
		}
		kubectl(t, "exec", "probed", "--", "touch", "/tmp/ready")
		await(t, "probed", "ready", isReady)
		expect(t, "deleted", "delete pod probed --timeout=5m")
	})
	t.Run("exec and cp", func(t *testing.T) {
		expect(t, "condition met", "wait pod/scripted pod/server --for=condition=Ready --timeout=5m") // as users do
		awaitOutput(t, "scripted\n", "logs scripted")                                                 // what it prints is not why it is ready
		if _, stderr, code := program.Run(t, program.Command(t, "--data-dir", dir, "kubectl", "exec", "server", "--", "sh", "-c", "exit 4")); code != 4 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		cmd := program.Command(t, "--data-dir", dir, "kubectl", "exec", "-i", "server", "--", "sh", "-c", "read x; echo got $x")
		cmd.Stdin = strings.NewReader("input\n")
		if out, stderr, _ := program.Run(t, cmd); out != "got input\n" {
			t.Errorf("output %q: %s", out, stderr)
		}
		source, back := filepath.Join(t.TempDir(), "source"), filepath.Join(t.TempDir(), "back")
		testutil.WriteFile(t, source, "copied\n")
		kubectl(t, "cp", source, "server:/tmp/copy")
		expect(t, "copied\n", "exec server -- cat /tmp/copy")
		kubectl(t, "cp", "server:/tmp/copy", back)
		if got, err := os.ReadFile(back); err != nil || string(got) != "copied\n" {
			t.Errorf("copied back: %q, %v", got, err)
		}
	})
	t.Run("hostile archives", func(t *testing.T) { testHostileCopy(t, dir) })
	t.Run("programs that are not known", func(t *testing.T) {
		expect(t, "nothing runs in it: the program of its image nginx is not simulated. To run a shell script instead, set the annotation ctrlplane.local/run of its Pod", "logs server")
		kubectl(t, "run", "app", "--image=python", "--command", "--", "python3", "app.py")
		await(t, "app", "ready", isReady)
		expect(t, "nothing runs in it: its command needs python3, which is not simulated.", "logs app")
		expect(t, "container app needs python3, which is not simulated", "describe pod app")
	})
	t.Run("a token", func(t *testing.T) {
		token := kubectl(t, "exec", "server", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		review, err := p.Client(t).AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || review.Status.User.Username != "system:serviceaccount:default:default" {
			t.Errorf("got %+v, %v", review.Status, err)
		}
	})
	t.Run("debug", func(t *testing.T) {
		kubectl(t, "debug", "server", "--image=busybox", "--container=debugger", "--", "sh", "-c", "echo debugging $(hostname); exit 2")
		await(t, "server", "debugged", func(pod *corev1.Pod) bool {
			debuggers := pod.Status.EphemeralContainerStatuses
			return len(debuggers) == 1 && debuggers[0].State.Terminated != nil && debuggers[0].State.Terminated.ExitCode == 2
		})
		expect(t, "debugging server\n", "logs server -c debugger")
	})
	t.Run("an updated ConfigMap", func(t *testing.T) {
		kubectl(t, "run", "reader", "--image=busybox", "--restart=Never", "--overrides", readerOverrides)
		await(t, "reader", "ready", isReady)
		slow := []byte(`{"data":{"mode":"slow"}}`)
		if _, err := p.Client(t).CoreV1().ConfigMaps("default").Patch(t.Context(), "settings", types.MergePatchType, slow, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "reader", "done", inPhase(corev1.PodSucceeded))
		expect(t, "slow\n", "logs reader")
	})
	t.Run("a second restart, after a delay", func(t *testing.T) { awaitRestarts(t, p, "crashes", 2) })
	t.Run("HTTP tables", func(t *testing.T) { testPodHTTP(t, p, expect) })
	t.Run("streams to a Pod without a command", func(t *testing.T) { testSimulatedStreams(t, p) })
	t.Run("a Job", func(t *testing.T) { expect(t, "condition met", "wait job/fails --for=condition=Failed --timeout=5m") })
}
