package learn

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
)

// Nodes are as they were before the lesson, except cordoned ones, and added ones on which a Pod of another namespace runs: these recover.
func TestRevertNodes(t *testing.T) {
	pod := func(namespace, owner string) string {
		return `{"metadata":{"name":"a","namespace":"` + namespace + `","ownerReferences":[{"kind":"` + owner + `","controller":true}]}}`
	}
	pods := map[string]string{
		"empty": "", "lesson": pod("lesson-7", "ReplicaSet") + "," + pod("lesson-7-further", "ReplicaSet"),
		"daemon": pod("default", "DaemonSet"), "used": pod("default", "ReplicaSet"), "used-failed": pod("default", "ReplicaSet"),
	}
	now := []control.Node{
		{Name: "failed", Own: true, Failed: true}, {Name: "cordoned", Unschedulable: true}, {Name: "both", Failed: true, Unschedulable: true},
		{Name: "was-cordoned", Unschedulable: true}, {Name: "users"},
	}
	before := &initialState{nodes: map[string]control.Node{"failed": {}, "cordoned": {}, "both": {}, "was-cordoned": {Unschedulable: true}}}
	for name := range pods {
		isFailed := name == "used-failed"
		now = append(now, control.Node{Name: name, Own: true, Failed: isFailed, Unschedulable: isFailed})
	}
	var changes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"}}`
		switch {
		case r.Method != http.MethodGet:
			changes = append(changes, strings.TrimPrefix(r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("name"), " "))
		case strings.HasSuffix(r.URL.Path, "/pods"):
			selector := r.URL.Query().Get("fieldSelector")
			node, _, _ := strings.Cut(strings.TrimPrefix(selector, "spec.nodeName="), ",")
			answer = `{"apiVersion":"v1","kind":"PodList","items":[` + pods[node] + `]}`
		default:
			data, err := json.Marshal(control.NodeList{Items: now})
			if err != nil {
				t.Error(err)
			}
			answer = string(data)
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL, QPS: -1}
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	left, err := (&controlPlane{control: client, objects: objects}).revertNodes(t.Context(), before, "lesson-7")
	slices.Sort(left)
	const added = ", which the lesson has added, stays: Pods of other namespaces run on it."
	cordoned := func(name string) string {
		return name + ", which was cordoned during the lesson, stays so: `kubectl uncordon " + name + "` makes it schedulable."
	}
	if err != nil || !slices.Equal(left, []string{cordoned("both"), cordoned("cordoned"), "used" + added, "used-failed" + added, cordoned("used-failed")}) {
		t.Errorf("leaves %q, %v", left, err)
	}
	slices.Sort(changes)
	want := []string{
		"DELETE " + controlrest.NodesPath + " daemon", "DELETE " + controlrest.NodesPath + " empty", "DELETE " + controlrest.NodesPath + " lesson",
		"POST " + controlrest.NodesPath + "/recover both", "POST " + controlrest.NodesPath + "/recover failed", "POST " + controlrest.NodesPath + "/recover used-failed",
	}
	if !slices.Equal(changes, want) {
		t.Errorf("got %q, want %q", changes, want)
	}
}
