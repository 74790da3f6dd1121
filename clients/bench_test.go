package clients

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

const protobufType = apiruntime.ContentTypeProtobuf

// protobufClient is a client that has received many events in protobuf, as the Pods of many Deployments.
type protobufClient struct {
	*client
	clients *Clients
	version int
}

func newProtobufClient(b *testing.B) *protobufClient {
	o := observe.New(observe.Options{})
	b.Cleanup(func() { o.Close() })
	c := New(Config{Observer: o, OwnPath: "/ctrlplane"})
	return &protobufClient{client: newClient("operator", c.config.Objects, new(atomic.Int64)), clients: c}
}

func (c *protobufClient) request(method, path string) *request {
	r := newRequest(c.clients.config.Observer, c.clients.frames, c.client, httptest.NewRequest(method, path, nil), &observe.Caller{})
	r.kinds = &c.clients.kinds
	return r
}

// watch returns a watch and what sends an event of it.
func (c *protobufClient) watch(path string) (w *watch, send func(frame []byte)) {
	w = c.request("GET", path+"?watch=1").watch
	w.begin(protobufType + ";stream=watch")
	c.addWatch(w)
	return w, func(frame []byte) {
		w.sent(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
		w.sent(frame)
	}
}

// pod encodes a Pod with a new version.
func (c *protobufClient) pod(name string, owners ...metav1.OwnerReference) []byte {
	c.version++
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: types.UID("0b1f6c1e-3a55-4f0e-9d5c-" + name), ResourceVersion: fmt.Sprint(10000 + c.version), OwnerReferences: owners,
		Labels: map[string]string{"app": name, "pod-template-hash": "7d4b9c8f6d"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsType: "FieldsV1"}},
	}}
	for range 3 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "web", Image: "registry.example.com/web:1", TerminationMessagePath: "/dev/termination-log"})
	}
	var data bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(pod, &data); err != nil {
		panic(err)
	}
	return data.Bytes()
}

func protobufFrame(object []byte) []byte {
	data, err := (&metav1.WatchEvent{Type: "MODIFIED", Object: apiruntime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

func ownedBy(name string) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: "ReplicaSet", Name: name, UID: types.UID("7c0e4a51-1f6b-4a39-8a6e-" + name)}
}

// How long a write waits that creates one of many objects.
func BenchmarkCauseInBurst(b *testing.B) {
	const deploymentCount, podCount = 250, 2500
	c := newProtobufClient(b)
	_, sendDeployment := c.watch(deployments)
	_, sendPod := c.watch("/api/v1/namespaces/ns/pods")
	for i := range deploymentCount {
		sendDeployment(protobufFrame(c.pod(fmt.Sprint("web-", i))))
	}
	for i := range podCount {
		owner := fmt.Sprintf("web-%d-7d4b9c8f6d", i%deploymentCount)
		sendPod(protobufFrame(c.pod(fmt.Sprint(owner, "-", i), ownedBy(owner))))
	}
	answer := c.pod("web")
	b.ReportAllocs()
	for b.Loop() {
		r := c.request("POST", deployments)
		r.body = bytes.NewBuffer(answer)
		r.call.Status = 201
		summary := recording.ParseResponse(protobufType, answer)
		summary.AddTo(r.call)
		c.likelyCause(r, summary)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(deploymentCount+podCount), "ns/event")
}

// How long a write waits that creates one of many objects without owners, as those of kwok's benchmark.
func BenchmarkCauseOfUnrelated(b *testing.B) {
	c := newProtobufClient(b)
	_, send := c.watch("/api/v1/namespaces/ns/pods")
	for i := range maxRecent {
		send(protobufFrame(c.pod(fmt.Sprintf("p%05d", i))))
	}
	created := 0
	b.ReportAllocs()
	for b.Loop() {
		answer := c.pod(fmt.Sprintf("n%05d", created))
		created++
		r := c.request("POST", "/api/v1/namespaces/ns/pods")
		r.body = bytes.NewBuffer(answer)
		r.call.Status = 201
		summary := recording.ParseResponse(protobufType, answer)
		summary.AddTo(r.call)
		c.likelyCause(r, summary)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/maxRecent, "ns/event")
}

// How long a list waits that is noted, and a write after it, of a client that has listed much. What a list has is not read.
func BenchmarkLists(b *testing.B) {
	c := newProtobufClient(b)
	for i := range keptLists {
		c.noteList(c.request("GET", fmt.Sprintf("/apis/example.com/v1/namespaces/ns-%d/sites", i)))
	}
	list := c.request("GET", "/apis/example.com/v1/sites")
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			c.noteList(list)
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			c.noteGet(list.call)
		}
	})
	answer := c.pod("web", ownedBy("web"))
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			r := c.request("POST", "/api/v1/namespaces/ns/pods")
			r.body = bytes.NewBuffer(answer)
			r.call.Status = 201
			summary := recording.ParseResponse(protobufType, answer)
			summary.AddTo(r.call)
			c.likelyCause(r, summary)
		}
	})
}

// What a watch keeps of an event, beside the last frames.
func BenchmarkKeptEvent(b *testing.B) {
	c := newProtobufClient(b)
	w, send := c.watch("/api/v1/namespaces/ns/pods")
	var frames [][]byte
	for i := range maxRecent {
		owner := fmt.Sprintf("web-%d-7d4b9c8f6d", i/10)
		frames = append(frames, protobufFrame(c.pod(fmt.Sprint(owner, "-", i), ownedBy(owner))))
	}
	before := heap()
	for _, frame := range frames {
		send(frame)
	}
	after := heap()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		send(frames[i%len(frames)])
	}
	b.ReportMetric(float64(after.HeapObjects-before.HeapObjects)/maxRecent, "kept-objects")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/maxRecent, "kept-B")
	runtime.KeepAlive(w)
}

func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
