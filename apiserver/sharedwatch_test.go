package apiserver

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const mapsKey = "/configmaps/"

// newTestSharer returns a storage of ConfigMaps.
func newTestSharer(t *testing.T) *watchSharer {
	t.Helper()
	return newTestStorage(t, schema.GroupResource{Resource: "configmaps"}).(*watchSharer)
}

// newTestStorage returns a storage as a resource has it, of ConfigMaps.
func newTestStorage(t *testing.T, resource schema.GroupResource) storage.Interface {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "etcd"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	replaced, err := replaceEtcdClient("/registry", Etcd{Connect: store.Client, CaughtUp: store.CaughtUp})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(replaced.undoReplacement)
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	codec := scheme.Codecs.CodecForVersions(info.Serializer, scheme.Codecs.UniversalDeserializer(), corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
	s, destroy, err := newWatchSharer(
		storagebackend.NewDefaultConfig("/registry", codec).ForResource(resource), "/configmaps",
		func(o runtime.Object) (string, error) { return mapKey(o.(*corev1.ConfigMap)), nil },
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} },
		func(o runtime.Object) (labels.Set, fields.Set, error) {
			m := o.(*corev1.ConfigMap)
			return m.Labels, generic.ObjectMetaFieldsSet(&m.ObjectMeta, true), nil
		}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	return s
}

func mapKey(m *corev1.ConfigMap) string { return mapsKey + m.Namespace + "/" + m.Name }

// selecting returns the options of a watch from a version on with a selector; empty = none.
func selecting(t *testing.T, selector, version string) storage.ListOptions {
	t.Helper()
	pred := storage.Everything
	if selector != "" {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		pred.Label = parsed
		pred.GetAttrs = func(o runtime.Object) (labels.Set, fields.Set, error) { return o.(*corev1.ConfigMap).Labels, nil, nil }
	}
	return storage.ListOptions{ResourceVersion: version, Predicate: pred, Recursive: true}
}

func openTestWatch(t *testing.T, ctx context.Context, s storage.Interface, opts storage.ListOptions) watch.Interface {
	t.Helper()
	w, err := s.Watch(ctx, mapsKey, opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// crowd opens watches until new ones are shared, and returns what ends them.
func crowd(t *testing.T, s *watchSharer) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	for range unsharedWatches {
		openTestWatch(t, ctx, s, selecting(t, "", ""))
	}
	if s.cache != nil {
		t.Fatalf("%d watches have a cache", unsharedWatches)
	}
	return cancel
}

func awaitSharer(t *testing.T, s *watchSharer, what string, is func() bool) {
	t.Helper()
	testutil.Await(t, what, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return is()
	})
}

// A client that does not read goes away. The source has to be stopped: it waits until its next
// event is received, which the end of its context does not end.
func TestSharedWatchStopsItsSource(t *testing.T) {
	source := watch.NewFake()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := openSharedWatch(ctx, nil, fakeOpener{source}, mapsKey, storage.ListOptions{Predicate: storage.Everything})
	if err != nil {
		t.Fatal(err)
	}
	for range maxQueuedEvents { // more are not received
		source.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}})
	}
	cancel()
	for range w.ResultChan() { // until it has ended
	}
	if !source.IsStopped() {
		t.Error("the source goes on")
	}
}

type fakeOpener struct{ w watch.Interface }

func (f fakeOpener) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return f.w, nil
}

// writer changes ConfigMaps of a few names at random.
type writer struct {
	t    *testing.T
	s    storage.Interface
	maps map[string]*corev1.ConfigMap
}

func (w *writer) write(n int) (version string) {
	w.t.Helper()
	for range n {
		name := fmt.Sprintf("m%d", rand.N(5))
		m := &corev1.ConfigMap{}
		key := mapsKey + "ns/" + name
		var err error
		switch {
		case w.maps[name] == nil:
			fresh := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: randomLabels()}}
			err = w.s.Create(w.t.Context(), key, fresh, m, 0)
			w.maps[name] = m
		case rand.N(4) == 0:
			err = w.s.Delete(w.t.Context(), key, m, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
			delete(w.maps, name)
		default:
			err = w.s.GuaranteedUpdate(w.t.Context(), key, m, false, nil, storage.SimpleUpdate(func(o runtime.Object) (runtime.Object, error) {
				changed := o.(*corev1.ConfigMap)
				changed.Labels, changed.Data = randomLabels(), map[string]string{"n": fmt.Sprint(rand.Int())}
				return changed, nil
			}), nil)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		version = m.ResourceVersion
	}
	return version
}

func randomLabels() map[string]string { return map[string]string{"a": fmt.Sprint(rand.N(2))} }

// delivered is an event of a watch.
type delivered struct {
	Type   watch.EventType
	Object *corev1.ConfigMap
}

// receive returns what a watch delivers, except bookmarks, up to the object of that name.
func receive(t *testing.T, w watch.Interface, last string) (list []delivered) {
	deadline := time.After(time.Minute)
	for {
		select {
		case e, ok := <-w.ResultChan():
			m, is := e.Object.(*corev1.ConfigMap)
			if cached, shared := e.Object.(runtime.CacheableObject); shared {
				m, is = cached.GetObject().(*corev1.ConfigMap)
			}
			if !ok || !is {
				t.Errorf("after %d events: %v %s %T", len(list), ok, e.Type, e.Object)
				return nil
			}
			if e.Type != watch.Bookmark {
				list = append(list, delivered{e.Type, m})
			}
			if m.Name == last {
				return list
			}
		case <-deadline:
			t.Errorf("only %d events", len(list))
			return nil
		}
	}
}

// stateAfter returns the last event of each object that exists after some events.
func stateAfter(list []delivered) []delivered {
	last := map[string]delivered{}
	for _, e := range list {
		last[e.Object.Name] = delivered{watch.Modified, e.Object}
		if e.Type == watch.Deleted {
			delete(last, e.Object.Name)
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b delivered) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
}

// end creates an object that each watch of the test delivers last, and returns its version.
func (w *writer) end(name string) string {
	w.t.Helper()
	last := &corev1.ConfigMap{}
	fresh := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"a": "1"}}}
	if err := w.s.Create(w.t.Context(), mapKey(fresh), fresh, last, 0); err != nil {
		w.t.Fatal(err)
	}
	return last.ResourceVersion
}

// A kind gets a cache when it has many watches, and loses it when they have ended.
func TestManyWatchesHaveACache(t *testing.T) {
	s := newTestSharer(t)
	for i := range 2 {
		leave := crowd(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		now := (&writer{t: t, s: s, maps: map[string]*corev1.ConfigMap{}}).end(fmt.Sprint(i))
		openTestWatch(t, ctx, s, selecting(t, "a=1", now))
		if s.shared != 1 {
			t.Fatalf("%d watches are shared, want 1", s.shared)
		}
		leave()
		awaitSharer(t, s, "the other watches have ended", func() bool { return s.open[mapsKey] == 1 })
		if s.cache == nil {
			t.Error("the cache has ended before its last watch")
		}
		cancel()
		awaitSharer(t, s, "the cache has ended", func() bool { return s.cache == nil && len(s.open) == 0 && s.shared == 0 })
	}
}

// All Events of a lease expire in one revision. A shared watch that is cut off within it would
// miss the others.
func TestWatchesOfEventsAreNotShared(t *testing.T) {
	for _, group := range []string{"", "events.k8s.io"} {
		if _, shares := newTestStorage(t, schema.GroupResource{Group: group, Resource: "events"}).(*watchSharer); shares {
			t.Errorf("watches of events of the group %q are shared", group)
		}
	}
}

// A shared watch delivers the same events as one that reads the storage itself, from the
// version on that it asks for, also if its client is too slow for the cache.
func TestSharedWatchesDeliverTheSame(t *testing.T) {
	s := newTestSharer(t)
	w := &writer{t: t, s: s, maps: map[string]*corev1.ConfigMap{}}
	old := w.write(20)
	defer crowd(t, s)()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	openTestWatch(t, ctx, s, selecting(t, "", old)) // creates the cache
	first := w.write(20)
	initial := true
	for _, of := range []struct {
		name, version string
		initial       *bool
		slow          bool
	}{
		{name: "before the cache", version: old}, // which does not know what happened then
		{name: "since the cache", version: first},
		{name: "slow client", version: first, slow: true},
		{name: "objects, then events", initial: &initial},
		{name: "objects of any version"},
	} {
		for _, selector := range []string{"", "a=1"} {
			t.Run(of.name+" "+selector, func(t *testing.T) {
				w.t = t
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				opts := selecting(t, selector, of.version)
				opts.SendInitialEvents, opts.Predicate.AllowWatchBookmarks = of.initial, of.initial != nil
				shared, own := openTestWatch(t, ctx, s, opts), openTestWatch(t, ctx, s.Interface, opts)
				if _, is := shared.(*sharedWatch); is != (of.version != "" || of.initial != nil) {
					t.Errorf("shared: %v", is)
				}
				var got []delivered
				last := strings.ToLower(crand.Text())
				var reading sync.WaitGroup
				read := func() { got = receive(t, shared, last) }
				if !of.slow {
					reading.Go(read)
				}
				w.write(300)
				w.end(last)
				if of.slow {
					read()
				}
				reading.Wait()
				want := receive(t, own, last)
				if of.version == "" { // where a watch begins depends on when it lists the objects
					want, got = stateAfter(want), stateAfter(got)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("-own +shared:\n%s", diff)
				}
			})
		}
	}
}

// A watch that a cache serves from the current version on waits for the progress of the
// cache. Clients that have not asked for bookmarks do not get one because of that.
func TestProgressOfACacheIsNoBookmark(t *testing.T) {
	s := newTestSharer(t)
	w := &writer{t: t, s: s, maps: map[string]*corev1.ConfigMap{}}
	own := openTestWatch(t, t.Context(), s, selecting(t, "", w.end("first")))
	for range unsharedWatches - 1 {
		openTestWatch(t, t.Context(), s, selecting(t, "", ""))
	}
	initial := true
	opts := selecting(t, "", "")
	opts.SendInitialEvents, opts.Predicate.AllowWatchBookmarks = &initial, true
	openTestWatch(t, t.Context(), s, opts) // creates the cache
	client, err := newETCD3Client(storagebackend.TransportConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(t.Context(), "/registry/other", ""); err != nil { // the cache is behind
		t.Fatal(err)
	}
	shared := openTestWatch(t, t.Context(), s, opts)
	if e := <-shared.ResultChan(); e.Type != watch.Added {
		t.Errorf("got %s", e.Type)
	}
	if e := <-shared.ResultChan(); e.Type != watch.Bookmark {
		t.Errorf("got %s", e.Type)
	}
	w.end("last")
	if e := <-own.ResultChan(); e.Type != watch.Added {
		t.Errorf("a watch without bookmarks got %s", e.Type)
	}
}
