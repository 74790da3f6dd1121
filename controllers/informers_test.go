package controllers

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/ctrlplane/ctrlplane/observe"
)

// newTestInformers returns shared informers of a fake API server that has the pods.
func newTestInformers(t *testing.T, pods ...string) (*sharedInformers, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	for _, name := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if _, err := client.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return &sharedInformers{
		typed:    newTrackedFactory(informers.NewSharedInformerFactory(client, 0)),
		metadata: metadatainformer.NewSharedInformerFactory(metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), 0),
		ctx:      t.Context(),
	}, client
}

func sendPodNames(names chan<- string) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { names <- obj.(*corev1.Pod).Name }}
}

// The handlers of one controller are removed when it stops, and the others' remain.
// When it starts again it receives all objects.
func TestInformerViewOwnsItsHandlers(t *testing.T) {
	s, client := newTestInformers(t, "old")
	one, two := s.newView(nil), s.newView(nil)
	toOne, toTwo := make(chan string, 10), make(chan string, 10)
	for f, ch := range map[*informerView]chan string{one: toOne, two: toTwo} {
		if _, err := f.Core().V1().Pods().Informer().AddEventHandler(sendPodNames(ch)); err != nil {
			t.Fatal(err)
		}
		f.Start(nil)
	}
	if a, b := <-toOne, <-toTwo; a != "old" || b != "old" {
		t.Fatalf("got %q, %q", a, b)
	}
	if err := one.close(); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "new"}}
	if _, err := client.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-toTwo; got != "new" {
		t.Errorf("the other view's handler got %q", got)
	}
	if len(toOne) != 0 {
		t.Errorf("a closed view's handler got %q", <-toOne)
	}

	again := s.newView(nil)
	replayed := make(chan string, 10)
	if _, err := again.Core().V1().Pods().Informer().AddEventHandler(sendPodNames(replayed)); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{<-replayed: true, <-replayed: true}
	if want := map[string]bool{"old": true, "new": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("replay: got %v, want %v", got, want)
	}
}

func TestInformerViewForResourceOwnsHandlers(t *testing.T) {
	s, _ := newTestInformers(t, "old")
	f := s.newView(nil)
	names := make(chan string, 10)
	for _, factory := range []interface {
		ForResource(schema.GroupVersionResource) (informers.GenericInformer, error)
	}{f, objectOrMetadata{f}} {
		generic, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := generic.Informer().AddEventHandler(sendPodNames(names)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(f.handlers); got != 2 {
		t.Errorf("got %d handlers", got)
	}
	f.Start(nil)
	<-names
	<-names
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

func TestInformerViewRemoveEventHandler(t *testing.T) {
	s, _ := newTestInformers(t)
	f := s.newView(nil)
	informer := f.Core().V1().Pods().Informer()
	reg, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	if err != nil {
		t.Fatal(err)
	}
	if err := informer.RemoveEventHandler(reg); err != nil {
		t.Fatal(err)
	}
	if len(f.handlers) != 0 {
		t.Error("the view still has a handler that its controller has removed")
	}
}

// Controllers add indexers each time they are built; the shared informer accepts
// each name once.
func TestInformerViewAddIndexersTwice(t *testing.T) {
	s, _ := newTestInformers(t)
	index := cache.Indexers{"byNode": func(any) ([]string, error) { return nil, nil }}
	for range 2 {
		if err := s.newView(nil).Core().V1().Pods().Informer().AddIndexers(index); err != nil {
			t.Fatal(err)
		}
	}
}

// Every accessor of an API group has to use the view.
func TestInformerViewAccessors(t *testing.T) {
	want := reflect.TypeFor[informers.SharedInformerFactory]()
	viewType := reflect.TypeFor[*informerView]()
	for i := range viewType.Elem().NumField() {
		if f := viewType.Elem().Field(i); f.Anonymous {
			t.Errorf("informerView embeds %s, whose accessors would bypass the view", f.Name)
		}
	}
	for i := range want.NumMethod() {
		if _, ok := viewType.MethodByName(want.Method(i).Name); !ok {
			t.Errorf("informerView lacks %s", want.Method(i).Name)
		}
	}
}

// A view records which resources its controller watches, and passes on the events.
func TestInformerViewReportsWatchedResources(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	s, _ := newTestInformers(t, "old")
	f := s.newView(o.Recorder("c"))
	names := make(chan string, 1)
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(sendPodNames(names)); err != nil {
		t.Fatal(err)
	}
	f.Start(nil)
	if got := <-names; got != "old" {
		t.Errorf("got %q", got)
	}
	if err := f.close(); err != nil { // waits for the handler
		t.Fatal(err)
	}
	snapshot, err := o.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := snapshot.Controllers[0]
	if c.Delivered != 1 || !cmp.Equal(c.Watches, []string{"pods"}) {
		t.Errorf("%+v", c)
	}
}

func behindHandlers(t *testing.T, o *observe.Observer) (all []observe.WatchLag) {
	t.Helper()
	s, err := o.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Controllers {
		all = append(all, c.Behind...)
	}
	return all
}

// A handler is behind if it has not received the last write, until it is removed.
func TestInformerViewReportsHandlersThatLagBehind(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	s, _ := newTestInformers(t, "old")
	f := s.newView(o.Recorder("c"))
	names := make(chan string, 1)
	reg, err := f.Core().V1().Pods().Informer().AddEventHandler(sendPodNames(names))
	if err != nil {
		t.Fatal(err)
	}
	f.Start(nil)
	<-names
	o.NoteVersion("pods", 1<<40)
	if got := behindHandlers(t, o); len(got) != 1 || got[0].Resource != "pods" || got[0].Written != 1<<40 {
		t.Errorf("behind: %+v", got)
	}
	if err := f.Core().V1().Pods().Informer().RemoveEventHandler(reg); err != nil {
		t.Fatal(err)
	}
	if got := behindHandlers(t, o); len(got) != 0 {
		t.Errorf("behind without a handler: %+v", got)
	}
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(sendPodNames(names)); err != nil {
		t.Fatal(err)
	}
	if got := behindHandlers(t, o); len(got) != 1 {
		t.Errorf("behind with another: %+v", got)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if got := behindHandlers(t, o); len(got) != 0 {
		t.Errorf("behind after the view was closed: %+v", got)
	}
}
