package trace

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// cluster records what a control plane would: controllers with queues whose keys are
// known, and a storage.
type cluster struct {
	*testing.T
	observer *observe.Observer
	revision int
	calls    int
}

// newCluster returns a cluster whose observer is closed: it still records, but only catchUp reads
// the journal, not a goroutine that may run too late.
func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, observer: observe.New(observe.Options{})}
	c.observer.Close()
	return c
}

// write makes a write to an object as a part of a sync.
func (c *cluster) write(by *observe.Recorder, verb string, o observe.Object, subresource string) (version string) {
	call := &observe.Called{Verb: verb, Object: o, Subresource: subresource, Status: 200, Began: time.Now(), Took: time.Microsecond}
	by.Call(call, func() { version = c.store(o, verb == "delete") })
	if verb != "delete" && subresource != "binding" {
		call.ResourceVersion = version
	}
	c.calls++
	return version
}

func (c *cluster) store(o observe.Object, deleted bool) string {
	c.revision++
	resource := o.Resource
	if o.Group != "" {
		resource += "." + o.Group
	}
	version := strconv.Itoa(c.revision)
	write := observe.BeginWrite()
	defer write.End()
	write.Stored(observe.Written{Resource: resource, Namespace: o.Namespace, Name: o.Name, ResourceVersion: version, Deleted: deleted})
	return version
}

// serve runs a call of a client and returns what the storage has written for it.
func serve(who string, call func()) []observe.Written {
	var served observe.ServedCall
	served.Serve(who, call)
	wrote, _ := served.End(nil)
	return wrote
}

// react delivers a version to a controller, which syncs a key and makes writes.
func (c *cluster) react(controller string, change observe.Change, o observe.Object, version, key string, writes func(by *observe.Recorder)) {
	by := c.observer.Recorder(controller)
	queue := by.KeyedQueue(controller)
	var added *observe.QueuedKey
	by.Deliver(&observe.Delivered{Change: change, Object: o, ResourceVersion: version}, func() { added = queue.Add(time.Time{}) })
	sync := queue.Begin(key, added)
	leave := sync.Enter()
	writes(by)
	leave()
	sync.End("")
}

func (c *cluster) replicaSet(name string) observe.Object {
	return observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: name}
}

// createDeployment creates a Deployment and its ReplicaSet, whose version it returns.
func (c *cluster) createDeployment(name string) (version string) {
	d := deployment(name)
	c.react("deployment-controller", observe.Added, d, c.store(d, false), d.Key(), func(by *observe.Recorder) {
		version = c.write(by, "create", c.replicaSet(name), "")
	})
	return version
}

// createPod creates, schedules and starts a Pod of a ReplicaSet of some version.
func (c *cluster) createPod(owner, version, name string) {
	p := pod(name)
	c.react("replicaset-controller", observe.Updated, c.replicaSet(owner), version, "default/"+owner, func(by *observe.Recorder) {
		version = c.write(by, "create", p, "")
	})
	c.react("kube-scheduler", observe.Added, p, version, p.Key(), func(by *observe.Recorder) { version = c.write(by, "create", p, "binding") })
	c.react("simulated-kubelet", observe.Added, p, version, p.Key(), func(by *observe.Recorder) { version = c.write(by, "patch", p, "status") })
	c.react("replicaset-controller", observe.Updated, p, version, "default/"+owner, func(by *observe.Recorder) {
		c.write(by, "update", c.replicaSet(owner), "status")
	})
}

func (c *cluster) deletePod(name string) {
	c.react("garbage-collector-controller", observe.Deleted, c.replicaSet("gone"), "1", "default/"+name, func(by *observe.Recorder) {
		c.write(by, "delete", pod(name), "")
	})
}

// catchUp makes the history read what was recorded.
func (c *cluster) catchUp() []observe.Record {
	c.Helper()
	c.observer.CausesBefore(1) // reads; Records does so only once something was dropped
	page, err := c.observer.Records(context.Background(), Query())
	if err != nil {
		c.Fatal(err)
	}
	return page.Records
}

func (c *cluster) checkWhy(about observe.Object, first string) {
	c.Helper()
	chain, err := Why(c.catchUp(), about, Options{})
	if err != nil {
		c.Fatal(err)
	}
	last := chain.Links[len(chain.Links)-1]
	if !chain.Complete || last.Object.String() != first || last.Verb != "create" {
		c.Errorf("%s: the story begins with %s %s, complete: %v\n%s", about, last.Verb, last.Object, chain.Complete, writeString(c.T, chain, Text, Style{}))
	}
}

func heapSize() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The causes of what still exists survive the churn of 10,000 Pods, in little memory.
func TestCausesSurviveChurn(t *testing.T) {
	c := newCluster(t)
	rs := c.createDeployment("web")
	c.createPod("web", rs, "web-old")
	c.catchUp()
	before := heapSize()
	for i := range 10000 {
		name := fmt.Sprintf("churn-%d", i)
		c.createPod("web", rs, name)
		c.deletePod(name)
		if i%700 == 0 {
			c.catchUp()
		}
	}
	page, err := c.observer.Records(context.Background(), observe.Query{})
	if err != nil || page.Missed < 100000 {
		t.Fatalf("%d records were dropped, %v: this test shows nothing", page.Missed, err)
	}
	c.checkWhy(pod("web-old"), "Deployment default/web")
	c.checkWhy(c.replicaSet("web"), "Deployment default/web")
	grown := heapSize() - before
	t.Logf("%d writes; the heap has grown by %.1f MB, both rings included", c.calls, float64(grown)/1e6)
	if grown > 64<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(c)
}

// A day in which nothing happens but what timers repeat does not push out causes, and
// an endless chain of them is cut.
func TestCausesSurviveIdleDay(t *testing.T) {
	c := newCluster(t)
	rs := c.createDeployment("web")
	c.createPod("web", rs, "web-old")
	c.createPod("web", rs, "web-gone")
	c.deletePod("web-gone")
	c.catchUp()
	whole := func() string { // what is known of both Pods
		var text strings.Builder
		for _, name := range []string{"web-old", "web-gone"} {
			tree, err := Build(c.catchUp(), pod(name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(writeString(t, tree, Text, Style{}))
		}
		return text.String()
	}
	story := whole()
	before := heapSize()
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}
	lease := observe.Object{Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "n1"}
	version := c.store(node, false)
	internal := c.observer.Recorder("kube-apiserver").KeyedQueue("priority_and_fairness_config_queue")
	for i := range 24 * 60 * 6 { // every 10 s
		c.write(c.observer.Recorder("simulated-kubelet"), "update", lease, "")
		c.observer.Recorder("node-lifecycle-controller").Deliver(&observe.Delivered{Change: observe.Updated, Object: lease}, func() {})
		internal.Begin("", internal.Add(time.Time{})).End("")
		if i%10 == 0 {
			c.react("simulated-kubelet", observe.Updated, node, version, "n1", func(by *observe.Recorder) { version = c.write(by, "patch", node, "status") })
		}
		if i%2000 == 0 {
			c.catchUp()
		}
	}
	c.checkWhy(pod("web-old"), "Deployment default/web")
	if now := whole(); now != story {
		t.Errorf("the traces were:\n%s\nnow they are:\n%s", story, now)
	}
	records := c.catchUp()
	page, err := c.observer.Records(context.Background(), observe.Query{})
	if err != nil || page.Missed == 0 {
		t.Fatalf("no record was dropped, %v: this test shows nothing", err)
	}
	if older := len(records) - len(page.Records); older > 600 {
		t.Errorf("%d records are kept besides those of the rings", older)
	}
	t.Logf("the heap has grown by %.1f MB, both rings included", float64(heapSize()-before)/1e6)
	runtime.KeepAlive(c)
}

// What 10,000 Pods that exist cost, over the rings.
func TestMemoryOfCauses(t *testing.T) {
	c := newCluster(t)
	rs := c.createDeployment("web")
	for i := range 30000 { // fills the rings
		c.write(c.observer.Recorder("x"), "update", deployment("web"), "")
		if i%12000 == 0 {
			c.catchUp()
		}
	}
	before := heapSize()
	const pods = 10000
	for i := range pods {
		c.createPod("web", rs, fmt.Sprintf("web-%d", i))
		if i%1000 == 0 {
			c.catchUp()
		}
	}
	grown := heapSize() - before
	t.Logf("%d Pods: %.1f MB, %d bytes a Pod", pods, float64(grown)/1e6, grown/pods)
	if grown > pods*8192 {
		t.Errorf("%d bytes a Pod", grown/pods)
	}
	c.checkWhy(pod("web-17"), "Deployment default/web")
	runtime.KeepAlive(c)
}

// clientCall records a call of a client that an event on one of its watches caused.
func (c *cluster) clientCall(who, verb string, o observe.Object, cause uint64) (version string) {
	wrote := serve(who, func() { version = c.store(o, false) })
	c.observer.Append(&observe.Called{
		Controller: who, Client: &observe.Caller{}, Verb: verb, Object: o, Status: 200, ResourceVersion: version,
		Began: time.Now(), Took: time.Microsecond, Wrote: wrote, Cause: cause,
	})
	return version
}

// watched records an event on a watch of a client.
func (c *cluster) watched(who string, change observe.Change, o observe.Object, version string) uint64 {
	return c.observer.AppendAt(&observe.Delivered{Controller: who, Change: change, Object: o, ResourceVersion: version}, time.Now())
}

// The observer reads the journal before it drops what was not read, without a query.
func TestHistoryIsReadInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records = 800
		c := &cluster{T: t, observer: observe.New(observe.Options{Records: records})}
		defer c.observer.Close()
		synctest.Wait() // it reads when it starts, too
		c.clientCall("kubectl (admin)", "create", deployment("shop"), 0)
		for range 2 * records {
			c.clientCall("kubectl (admin)", "update", deployment("clock"), 0)
			synctest.Wait()
		}
		c.checkWhy(deployment("shop"), "Deployment default/shop")
	})
}

// What an operator without the module has made follows from the event on its watch, however
// long ago that was, and an operator that goes on for ever needs little memory.
func TestCausesOfClientsSurvive(t *testing.T) {
	c := newCluster(t)
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
	clock := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "clock"}
	version := c.clientCall("kubectl (admin)", "create", site, 0)
	c.clientCall("plain (admin)", "create", deployment("shop"), c.watched("plain (admin)", observe.Added, site, version))
	c.catchUp()
	version = c.clientCall("kubectl (admin)", "create", clock, 0)
	for i := range 2 * observe.DefaultRecords {
		version = c.clientCall("plain (admin)", "update", clock, c.watched("plain (admin)", observe.Updated, clock, version))
		if i%4000 == 0 {
			c.catchUp()
		}
	}
	page, err := c.observer.Records(context.Background(), observe.Query{})
	if err != nil || page.Missed == 0 {
		t.Fatalf("no record was dropped, %v: this test shows nothing", err)
	}
	if older := len(c.catchUp()) - len(page.Records); older > 300 {
		t.Errorf("%d records are kept besides those of the rings", older)
	}
	c.checkWhy(deployment("shop"), "Site default/shop")
}
