package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A Pod that fits no node is bound when a Node changes: that is in the trace of what created
// the Pod, although it does not follow from that alone.
func TestTraceHasALaterBinding(t *testing.T) {
	c := newCluster(t)
	rs, p := c.createDeployment("web"), pod("web-1")
	c.react("replicaset-controller", observe.Added, c.replicaSet("web"), rs, "default/web", func(by *observe.Recorder) {
		c.write(by, "create", p, "")
	})
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}
	version := c.clientCall("kubectl (admin)", "patch", node, 0)
	other := pod("other") // not created by it
	c.react("kube-scheduler", observe.Updated, node, version, p.Key(), func(by *observe.Recorder) {
		for _, o := range []observe.Object{p, other} {
			call := &observe.Called{Verb: "create", Subresource: "binding", Object: o, Status: 201, BoundTo: "n1", Began: time.Now()}
			by.Call(call, func() { version = c.store(o, false) })
		}
	})
	for _, about := range []observe.Object{deployment("web"), p} {
		tree, err := Build(c.catchUp(), about, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, tree, Text, Style{})
		if n := strings.Count(text, "kube-scheduler bound Pod web-1 to n1 (version "); n != 1 || !strings.Contains(text, "because Node n1 was updated") || strings.Contains(text, "other") {
			t.Errorf("%s: %d bindings in:\n%s", about, n, text)
		}
	}
}
