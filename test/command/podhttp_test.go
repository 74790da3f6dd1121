package command_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// answersManifest has a server that answers from its table, and Pods that ask it.
const answersManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: answers
  labels: {app: answers}
  annotations:
    ctrlplane.local/http: |
      / 200 hello from a table
      /ready 200
      /live 200
spec:
  containers:
  - name: main
    image: nginx
    ports: [{name: web, containerPort: 8080}]
    readinessProbe: {httpGet: {path: /ready, port: web}, periodSeconds: 1, failureThreshold: 1}
    livenessProbe: {httpGet: {path: /live, port: web}, periodSeconds: 1, failureThreshold: 1}
---
apiVersion: v1
kind: Service
metadata: {name: answers}
spec: {selector: {app: answers}, ports: [{port: 80, targetPort: web}]}
---
apiVersion: v1
kind: Pod
metadata: {name: asks}
spec:
  restartPolicy: Never
  initContainers: [{name: wait, image: busybox, command: [sh, -c, 'until nc -z answers 80; do sleep 0.1; done']}]
  containers: [{name: main, image: busybox, command: [wget, -qO-, 'http://answers/']}]
`

// testPodHTTP asks a Pod with a table in every way that reaches it.
func testPodHTTP(t *testing.T, p *program.ControlPlane, expect func(t *testing.T, want, args string)) {
	dir, file := p.Dir, filepath.Join(t.TempDir(), "answers.yaml")
	testutil.WriteFile(t, file, answersManifest)
	program.MustRun(t, dir, "kubectl", "apply", "-f", file)
	const body = "hello from a table\n"
	awaitPod(t, p, "answers", "ready", isReady)
	awaitPod(t, p, "asks", "done", inPhase(corev1.PodSucceeded))
	expect(t, body, "logs asks -c main")
	expect(t, body, "get --raw /api/v1/namespaces/default/pods/answers:8080/proxy/")
	expect(t, body, "get --raw /api/v1/namespaces/default/services/answers/proxy/")
	if got := forwarded(t, dir, "pod/answers", "8080"); got != body {
		t.Errorf("forwarded: %q", got)
	}
	refused := program.Command(t, "--data-dir", dir, "kubectl", "get", "--raw", "/api/v1/namespaces/default/pods/server:80/proxy/")
	if _, stderr, code := program.Run(t, refused); code != 1 || !strings.Contains(stderr, "connection refused: the pod is simulated") {
		t.Errorf("a Pod without a table: exit code %d: %s", code, stderr)
	}

	pods := p.Client(t).CoreV1().Pods("default")
	annotate := func(table string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"ctrlplane.local/http":%q}}}`, table)
		if _, err := pods.Patch(t.Context(), "answers", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	annotate("/live 200\n/ready 503 busy")
	awaitPod(t, p, "answers", "not ready", func(pod *corev1.Pod) bool { return hasCondition(pod, corev1.PodReady, corev1.ConditionFalse) })
	awaitEvent(t, p, "answers", "Readiness probe failed: HTTP probe failed with statuscode: 503")
	annotate("/ready 200")
	awaitRestarts(t, p, "answers", 1)
}

// awaitEvent waits for an event about an object in the namespace default.
func awaitEvent(t *testing.T, p *program.ControlPlane, object, text string) {
	t.Helper()
	events := p.Client(t).CoreV1().Events("default")
	p.Await(t, "telling "+text, func() bool {
		list, err := events.List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + object})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return strings.Contains(e.Message, text) })
	})
}

// awaitRestarts waits until the container of a Pod was restarted as often, or more often.
func awaitRestarts(t *testing.T, p *program.ControlPlane, pod string, times int) {
	t.Helper()
	pods := p.Client(t).CoreV1().Pods("default")
	p.Await(t, fmt.Sprintf("restarting %s %d times", pod, times), func() bool {
		got, err := pods.Get(t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Status.ContainerStatuses) > 0 && int(got.Status.ContainerStatuses[0].RestartCount) >= times
	})
}

// forwarded returns what a forwarded port of a Pod answers.
func forwarded(t *testing.T, dir, pod, port string) string {
	t.Helper()
	cmd := program.Command(t, "--data-dir", dir, "kubectl", "port-forward", pod, ":"+port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("kubectl port-forward printed %q, %v", line, err)
	}
	var got strings.Builder
	for range 2 { // two connections
		resp, err := http.Get("http://" + address + "/")
		if err != nil {
			t.Fatal(err)
		}
		got.Reset()
		_, err = io.Copy(&got, resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return got.String()
}
