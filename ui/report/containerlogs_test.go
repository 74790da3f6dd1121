package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// crashedPod returns a Pod of the ReplicaSet web-1 in a state of its only container.
func crashedPod(name, state string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: %s, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: uid-of-web-1, controller: true}]}
status: {phase: Running, containerStatuses: [{name: c, %s}]}`, name, state)
}

const (
	crashLoop = `ready: false, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3}}`
	exited    = `ready: false, state: {terminated: {exitCode: 3}}`
	unready   = `ready: false, state: {running: {}}`
	restarted = `ready: false, state: {running: {}}, lastState: {terminated: {exitCode: 3}}`
	pulling   = `ready: false, state: {waiting: {reason: ImagePullBackOff}}`
	completed = `ready: false, state: {terminated: {exitCode: 0}}`
)

func TestLogRequests(t *testing.T) {
	for state, want := range map[string]string{
		crashLoop: "shop/p c true", exited: "shop/p c false", unready: "shop/p c false", restarted: "shop/p c true", pulling: "", completed: "",
	} {
		s := &State{objects: parseObjects(t, crashedPod("p", state))}
		var got string
		s.readLogs(t.Context(), func(_ context.Context, r logRequest) (string, error) {
			got += fmt.Sprintf("%s/%s %s %v", r.namespace, r.pod, r.container, r.previous)
			return "", nil
		})
		if got != want {
			t.Errorf("%s: reads %q, want %q", state, got, want)
		}
	}
}

// TestLogsOfUnhealthyObjects reads the log of a Pod: the Deployment that controls it has
// its last lines, on the page, in junit.xml and as text.
func TestLogsOfUnhealthyObjects(t *testing.T) {
	s := &State{objects: parseObjects(t, stuckDeployment, itsReplicaSet, crashedPod("web-1-a", crashLoop), settings)}
	reasons := s.findUnhealthy(func(*unstructured.Unstructured) string { return "why" })
	logs := s.readLogs(t.Context(), func(context.Context, logRequest) (string, error) {
		return "left out\n" + strings.Repeat("more\n", maxLogLines-2) + "::error::cannot \x1b[31mreach db\n" + strings.Repeat("x", 2*maxLogLine) + "\n", nil
	})
	s.cases, _ = objectCases(s.objects, []manifests.Object{}, nil, reasons, logs, ownDoubt)
	bad, of := s.NotHealthy()
	if len(bad) != 1 || of != 2 {
		t.Fatalf("%v of %d", bad, of)
	}
	want := []string{"log of Pod shop/web-1-a, container c, before its restart"}
	for range maxLogLines - 2 {
		want = append(want, "  | more")
	}
	want = append(want, "  | : :error::cannot [31mreach db", "  | "+strings.Repeat("x", maxLogLine-1)+"…")
	if diff := cmp.Diff(want, bad[0].Logs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var junit bytes.Buffer
	if err := writeJUnit(&junit, &Outcome{Command: []string{"true"}, Began: runStart}, s.cases); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(junit.String(), "cannot [31mreach db") {
		t.Errorf("junit.xml lacks the log:\n%s", &junit)
	}
}

// TestLogsAreBounded has more Pods than logs are read of, and one that cannot be read.
func TestLogsAreBounded(t *testing.T) {
	s := &State{objects: parseObjects(t, stuckDeployment, itsReplicaSet)}
	for i := range 2 * maxLogs {
		s.objects = append(s.objects, parseObjects(t, crashedPod(fmt.Sprintf("of-web-%d", i), exited))...)
		alone := parseObject(t, crashedPod(fmt.Sprintf("alone-%d", i), exited))
		alone.SetOwnerReferences(nil)
		s.objects = append(s.objects, alone)
	}
	reads := 0
	logs := s.readLogs(t.Context(), func(context.Context, logRequest) (string, error) {
		reads++
		return "", errors.New("gone\nand\x07 lost")
	})
	if reads != maxLogs || len(logs["uid-of-web"]) != maxObjectLogs {
		t.Errorf("%d logs, %d of one object", reads, len(logs["uid-of-web"]))
	}
	want := []string{"log of Pod shop/alone-0, container c: cannot be read: gone and lost"}
	if diff := cmp.Diff(want, logText(logs["uid-of-alone-0"])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLogReader reads as kubectl does, and no more than a log's end.
func TestLogReader(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		fmt.Fprint(w, strings.Repeat("x", 2*maxLogBytes))
	}))
	defer server.Close()
	read, err := newLogReader(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	text, err := read(t.Context(), logRequest{"shop", "web", "c", true})
	if err != nil || len(text) != maxLogBytes {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if want := "/api/v1/namespaces/shop/pods/web/log?container=c&limitBytes=16384&previous=true&tailLines=10"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}
