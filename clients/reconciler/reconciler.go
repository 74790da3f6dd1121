// Package reconciler is a controller whose reconciler is a function that gets keys: it has
// informers and a work queue of client-go, and reports what it does in the format of
// docs/operators.md, so that a control plane shows it like one of its own. "ctrlplane
// reconcile" runs a command for each key with it.
//
// It imports the types of that format from package clients, the side that reads them.
// Operators in Go use the instrument module instead, which depends on neither.
package reconciler

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Kind is a kind of object that a controller watches.
type Kind struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// Controller reconciles the objects of a kind.
type Controller struct {
	Config    *rest.Config // its user agent names the program
	Name      string       // of the controller and of its queue
	Namespace string       // of the objects; empty means all namespaces
	For       Kind
	Owns      []Kind // an event of their objects adds the key of the owner, if that is of kind For, and of a former one

	// Sync brings the object with a key to its desired state. Its requests are known as
	// those of this sync if they have the header clients.SyncHeader with that value. A
	// sync that fails is repeated, each time after a longer delay.
	Sync func(ctx context.Context, key cache.ObjectName, header string) error

	queue    workqueue.TypedDelayingInterface[string]
	limiter  workqueue.TypedRateLimiter[string]
	keys     *keys
	reporter *reporter
}

// Run runs the controller until ctx ends. ready is called when it has seen all objects that
// exist.
func (c *Controller) Run(ctx context.Context, ready func()) error {
	c.limiter = workqueue.DefaultTypedControllerRateLimiter[string]()
	c.queue = workqueue.NewTypedDelayingQueue[string]()
	c.keys = newKeys()
	var err error
	if c.reporter, err = newReporter(c.Config, c.Name, c.keys, c.queue.Len); err != nil {
		return err
	}
	if err := c.reporter.connect(ctx); err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, c.Namespace, nil)
	var synced []cache.InformerSynced
	for _, k := range append([]Kind{c.For}, c.Owns...) {
		registration, err := factory.ForResource(k.GroupVersionResource).Informer().AddEventHandler(c.handler(k))
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		c.reporter.run(ctx)
	}()
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		c.keys.startWork()
		c.reporter.wakeUp()
		ready()
		c.work(ctx)
	}
	c.queue.ShutDown()
	factory.Shutdown()
	<-reported
	c.reporter.end(context.WithoutCancel(ctx))
	return nil
}

// handler returns the handler of the events of a kind.
func (c *Controller) handler(k Kind) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, listed bool) {
			change := "added"
			if listed {
				change = "listed"
			}
			c.handle(k, change, nil, o)
		},
		UpdateFunc: func(old, o any) { c.handle(k, "updated", old, o) },
		DeleteFunc: func(o any) { c.handle(k, "deleted", nil, o) },
	}
}

// handle adds the keys that an event is about.
func (c *Controller) handle(k Kind, change string, old, o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return // the informer has only these
	}
	before, _ := old.(*unstructured.Unstructured)
	keys := c.keysOf(k, u, before)
	if len(keys) == 0 {
		return
	}
	e := newEvent(k, change, u)
	e.Deleting = u.GetDeletionTimestamp() != nil && before != nil && before.GetDeletionTimestamp() == nil
	e.Controller = c.Name
	c.keys.add(e, keys...)
	for _, key := range keys {
		c.queue.Add(key)
	}
	c.reporter.wakeUp()
}

// keysOf returns the key of an object, and the one that it had before an update if that differs: the
// former owner of an object has lost it. before may be nil.
func (c *Controller) keysOf(k Kind, now, before *unstructured.Unstructured) []string {
	var keys []string
	for _, o := range []*unstructured.Unstructured{now, before} {
		if o == nil {
			continue
		}
		if key, ok := c.keyOf(k, o); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyOf returns the key of an object that is reconciled, or of the owner of one.
func (c *Controller) keyOf(k Kind, o *unstructured.Unstructured) (string, bool) {
	name := cache.MetaObjectToName(o)
	if k.GroupVersionResource == c.For.GroupVersionResource {
		return name.String(), true
	}
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.Kind != c.For.Kind {
		return "", false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || group.Group != c.For.Group {
		return "", false
	}
	if name.Name = owner.Name; !c.For.Namespaced {
		name.Namespace = ""
	}
	return name.String(), true
}

// work takes keys from the queue and syncs them until ctx ends.
func (c *Controller) work(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	for {
		key, ended := c.queue.Get()
		if ended || ctx.Err() != nil { // a queue that is shut down still hands out its keys
			return
		}
		c.syncKey(ctx, key)
		c.queue.Done(key)
		c.reporter.wakeUp()
	}
}

// syncKey syncs a key, and adds it again if that fails.
func (c *Controller) syncKey(ctx context.Context, key string) {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return // keyOf makes only such
	}
	id := c.keys.begin(c.Name, key)
	c.reporter.wakeUp()
	err = c.Sync(ctx, name, c.reporter.session+"/"+c.Name+"/"+strconv.FormatUint(id, 10))
	if err == nil {
		c.limiter.Forget(key)
		c.keys.end(id, nil, time.Time{})
		return
	}
	if ctx.Err() != nil {
		c.keys.end(id, errors.New("the controller was stopped"), time.Time{})
		return
	}
	delay := c.limiter.When(key)
	c.keys.end(id, err, time.Now().Add(delay))
	c.queue.AddAfter(key, delay)
}
