package instrument

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	m.Run()
}

// plane is a server that takes reports and writes.
type plane struct {
	*testing.T
	url string

	mu      sync.Mutex
	status  int  // of answers to reports
	other   bool // it is another server than ctrlplane
	asked   int  // requests with reports
	reports []report
	syncs   map[string]string // by the path of a request: the sync that has made it
	changed chan struct{}     // closed when one of them changes
}

func startPlane(t *testing.T, status int) *plane {
	t.Helper()
	p := &plane{T: t, status: status, syncs: map[string]string{}, changed: make(chan struct{})}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// ServeHTTP answers a write with the object.
func (p *plane) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the client has gone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
	if req.URL.Path != reportPath {
		p.syncs[req.URL.Path] = req.Header.Get(syncHeader)
		w.Header().Set("Content-Type", req.Header.Get("Content-Type"))
		_, _ = w.Write(body)
		return
	}
	p.asked++
	if p.status == http.StatusOK {
		var r report
		if err := json.Unmarshal(body, &r); err != nil {
			p.Error(err)
		}
		p.reports = append(p.reports, r)
	}
	if !p.other {
		w.Header().Set(answerHeader, "1")
	}
	w.WriteHeader(p.status)
}

func (p *plane) setStatus(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// await waits until what the plane has received is enough.
func (p *plane) await(what string, enough func() bool) {
	p.Helper()
	deadline := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		ok, changed := enough(), p.changed
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.Fatalf("waited 20 s: %s", what)
		}
	}
}

// ended returns the syncs of a controller that have ended, by number. The caller holds
// the lock.
func (p *plane) ended(controller string) (list []*endedRecord) {
	for _, r := range p.records() {
		if r.Ended != nil && r.Ended.Controller == controller {
			list = append(list, r.Ended)
		}
	}
	slices.SortFunc(list, func(a, b *endedRecord) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// event returns an event with its record. The caller holds the lock.
func (p *plane) event(id uint64) *eventRecord {
	for _, r := range p.records() {
		if r.Event != nil && r.Event.ID == id {
			return r.Event
		}
	}
	return nil
}

func (p *plane) records() (list []record) {
	for _, r := range p.reports {
		list = append(list, r.Records...)
	}
	return list
}

// operator is a manager with informers that a test fills.
type operator struct {
	*testing.T
	manager.Manager
	informer *fakeInformer
	filled   chan struct{} // closed once the caches are filled that were asked for before the start
	logged   chan string   // errors
}

func newOperator(t *testing.T, url string, change ...func(*ctrl.Options)) *operator {
	t.Helper()
	return newOperatorOf(t, &rest.Config{Host: url, BearerToken: "token", UserAgent: "shop/v1"}, change...)
}

func newOperatorOf(t *testing.T, cfg *rest.Config, change ...func(*ctrl.Options)) *operator {
	t.Helper()
	o := &operator{
		T: t, informer: &fakeInformer{FakeInformer: controllertest.NewFakeInformer(controllertest.Synced), handlers: make(chan struct{}, 8)},
		filled: make(chan struct{}), logged: make(chan string, 128),
	}
	informers := &fakeCache{&informertest.FakeInformers{Scheme: scheme.Scheme, InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"): o.informer,
	}}, o.filled}
	skip := true
	options := ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
		NewCache:   func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return newMapper(), nil
		},
		Logger: funcr.New(func(_, text string) { o.logged <- text }, funcr.Options{Verbosity: -1}),
	}
	for _, c := range change {
		c(&options)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	o.Manager = Manager(mgr)
	o.reporter().flushTimeout, o.reporter().closeTimeout = time.Hour, time.Hour
	return o
}

func newMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

// fakeCache is a cache that is filled when the test says so.
type fakeCache struct {
	*informertest.FakeInformers
	filled chan struct{}
}

func (c *fakeCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.filled:
		return true
	case <-ctx.Done():
		return false
	}
}

// fakeInformer is an informer of ConfigMaps that says when it has a handler.
type fakeInformer struct {
	*controllertest.FakeInformer
	adding   sync.Mutex // upstream's informer of tests has none
	handlers chan struct{}
}

func (i *fakeInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.adding.Lock()
	defer i.adding.Unlock()
	defer func() { i.handlers <- struct{}{} }()
	return i.FakeInformer.AddEventHandlerWithOptions(h, o)
}

// start runs the manager until the test ends, and returns when its controllers have their
// handlers.
func (o *operator) start(controllers int) {
	o.Helper()
	close(o.filled)
	o.run(o.Manager)
	for range controllers {
		<-o.informer.handlers
	}
}

// run runs a manager until the test ends, or stop is called.
func (o *operator) run(mgr manager.Manager) (stop func()) {
	o.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			o.Error(err)
		}
	})
	o.Cleanup(stop)
	return stop
}

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: version}}
}
