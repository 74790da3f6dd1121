package kubelet

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

var startTime = metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const noOutputLine = "This run of c has no output.\n"

func explainLog(_ *corev1.Pod, container string, _ int32) string {
	return "This run of " + container + " has no output."
}

func runningState() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: startTime}}
}

func terminatedState(id string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ContainerID: id, ExitCode: 3, StartedAt: startTime, FinishedAt: metav1.NewTime(startTime.Add(time.Minute)),
	}}
}

func waitingState(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// newPod returns a Pod with a container c in these states.
func newPod(name string, now, last corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c"}, {Name: "new"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "c", Image: "nginx", ContainerID: "id", State: now, LastTerminationState: last},
		}},
	}
}

func TestLogs(t *testing.T) {
	none := corev1.ContainerState{}
	withOutput := newPod("output", runningState(), none)
	withOutput.Annotations = map[string]string{annotations.Log: "one\ntwo\nthree"}
	elsewhere := newPod("elsewhere", runningState(), none)
	elsewhere.Spec.NodeName = "node-2"
	_, client := startKubelets(t,
		newPod("runs", runningState(), none),
		newPod("again", runningState(), terminatedState("before")),
		newPod("ended", terminatedState("id"), none),
		newPod("crashes", waitingState("CrashLoopBackOff"), terminatedState("id")),
		newPod("starts", waitingState("ContainerCreating"), none),
		withOutput, elsewhere)
	const end = "The container exited at 2026-01-02T03:05:05Z with code 3.\n"
	for _, test := range []struct {
		path string // after the namespace
		code int
		want string
	}{
		{"runs/c", 200, noOutputLine},
		{"ended/c", 200, noOutputLine + end},
		{"ended/c?follow=true", 200, noOutputLine + end},
		{"crashes/c", 200, noOutputLine + end},
		{"again/c", 200, noOutputLine},
		{"again/c?previous=true", 200, noOutputLine + end},
		{"runs/c?previous=true", 400, `previous terminated container "c" in pod "runs" not found`},
		{"starts/c", 400, `container "c" in pod "starts" is waiting to start: ContainerCreating`},
		{"runs/new", 400, `container "new" in pod "runs" is not available`},
		{"runs/nope", 404, `container "nope" not found in pod "runs"`},
		{"nope/c", 404, `pod "nope" does not exist`},
		{"elsewhere/c", 404, `pod "elsewhere" does not exist`},
		{"ended/c?tailLines=1", 200, end},
		{"ended/c?tailLines=0", 200, ""},
		{"ended/c?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"},
		{"ended/c?sinceTime=2026-01-02T03:05:00Z", 200, end},
		{"ended/c?sinceSeconds=1", 200, ""},
		{"ended/c?limitBytes=4&follow=true", 200, "This"},
		{"ended/c?tailLines=1&timestamps=true", 200, "2026-01-02T03:05:05.000000000Z " + end},
		{"ended/c?stream=Stderr", 200, ""},
		{"output/c", 200, "one\ntwo\nthree\n"},
		{"output/c?tailLines=2&timestamps=true", 200, "2026-01-02T03:04:05.000000000Z two\n2026-01-02T03:04:05.000000000Z three\n"},
		{"output/c?follow=true&limitBytes=5", 200, "one\nt"},
	} {
		t.Run(test.path, func(t *testing.T) {
			code, body := getURL(t, client, "https://172.16.0.1:10250/containerLogs/default/"+test.path)
			if code != test.code || body != test.want {
				t.Errorf("got %d %q, want %d %q", code, body, test.code, test.want)
			}
		})
	}
}

// notifyWatch sends when a watch of Pods has started: it receives later changes.
func notifyWatch(client *fake.Clientset) <-chan struct{} {
	begun := make(chan struct{}, 1)
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begun <- struct{}{}
		return true, w, err
	})
	return begun
}

func TestFollowLogs(t *testing.T) {
	none := corev1.ContainerState{}
	for _, test := range []struct {
		name   string
		change func(*fake.Clientset) error
		want   string
	}{
		{"until the container ends", func(c *fake.Clientset) error {
			_, err := c.CoreV1().Pods("default").UpdateStatus(t.Context(), newPod("p", terminatedState("id"), none), metav1.UpdateOptions{})
			return err
		}, "The container exited at 2026-01-02T03:05:05Z with code 3.\n"},
		{"until the container is restarted", func(c *fake.Clientset) error {
			now := newPod("p", runningState(), terminatedState("id"))
			now.Status.ContainerStatuses[0].ContainerID = "id-2"
			_, err := c.CoreV1().Pods("default").UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
			return err
		}, "The container exited at 2026-01-02T03:05:05Z with code 3.\n"},
		{"until the pod is deleted", func(c *fake.Clientset) error {
			return c.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{})
		}, ""},
		{"past a change that ends nothing", func(c *fake.Clientset) error {
			now := newPod("p", runningState(), none)
			now.Labels = map[string]string{"a": "b"}
			if _, err := c.CoreV1().Pods("default").Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
				return err
			}
			return c.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{})
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, kubelet := startKubelets(t, newPod("p", runningState(), none))
			begun := notifyWatch(client)
			resp, err := kubelet.Get("https://172.16.0.1:10250/containerLogs/default/p/c?follow=true")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			if first, err := body.ReadString('\n'); first != noOutputLine || err != nil {
				t.Fatalf("got %q, %v", first, err)
			}
			<-begun
			if err := test.change(client); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(body); string(rest) != test.want || err != nil {
				t.Errorf("got %q, %v, want %q", rest, err, test.want)
			}
		})
	}
}

// A client must not take an aborted log for complete.
func TestCloseAbortsFollowedLogs(t *testing.T) {
	s, _ := newServer(t)
	client := fake.NewClientset(newPod("p", runningState(), corev1.ContainerState{}))
	begun := notifyWatch(client)
	s.Start(client)
	raw, err := s.listener.dial(t.Context(), dialTarget{host: "node-1", nodes: []string{"node-1"}})
	if err != nil {
		t.Fatal(err)
	}
	conn := newTLSClient(raw)
	defer conn.Close()
	fmt.Fprint(conn, "GET /containerLogs/default/p/c?follow=true HTTP/1.1\r\nHost: node-1\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { <-begun; closed <- s.Close() }()
	body, err := io.ReadAll(resp.Body)
	if !strings.HasPrefix(string(body), "This run") || err == nil {
		t.Errorf("got %q, %v", body, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
