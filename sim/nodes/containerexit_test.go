package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestFailedContainers(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":{"containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":3}}},{"name":"b","state":{"terminated":{"exitCode":0}}},{"name":"c","state":{"running":{}},"lastState":{"terminated":{"exitCode":7}}}]}}`: "a3",
		`{"status":{"initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}}`:                                                                                                       "i137",
		`{"status":{"phase":"Running"}}`: "",
		`[{"op":"add","path":"/status/containerStatuses/0/state","value":{"terminated":{"exitCode":1}}}]`: "",
		`{"terminated":`: "",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://localhost/api/v1/namespaces/ns/pods/p/status", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range failedContainers(req) {
			got += fmt.Sprint(c.Name, c.State.Terminated.ExitCode)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// A container that a signal has ended, as when its Pod is deleted, was stopped.
func TestStoppedContainersHaveNotFailed(t *testing.T) {
	for want, end := range map[string]corev1.ContainerStateTerminated{
		"Container failed":                   {ExitCode: 1, Reason: "Error"},
		"Container stopped":                  {ExitCode: 143, Reason: "Error"},
		"Container failed, reason OOMKilled": {ExitCode: 137, Reason: "OOMKilled"},
	} {
		l := describeExit(corev1.ContainerStatus{Name: "a", State: corev1.ContainerState{Terminated: &end}})
		got := l.Message
		if len(l.Attrs) == 3 {
			got += ", reason " + l.Attrs[2].Value
		}
		if got != want {
			t.Errorf("exit code %d: %q, want %q", end.ExitCode, got, want)
		}
	}
}
