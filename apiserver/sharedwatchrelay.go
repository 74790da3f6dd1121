package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// maxQueuedEvents is how many events a shared watch takes from the cache that its client
// has not accepted: it bounds what a client that does not read keeps in memory.
const maxQueuedEvents = 100

// sharedWatch is a watch that a cache serves. The cache ends a watch that does not accept
// events at once, and refuses one that asks for more than the cache knows. A client notices
// neither: the watch goes on with the cache, or else with the storage, after the last event.
type sharedWatch struct {
	storage, cache watchOpener
	key            string
	opts           storage.ListOptions // of a watch that goes on after the queue

	cancel context.CancelFunc
	out    chan watch.Event
	queue  []watch.Event
	source watch.Interface // nil while there is none
	own    bool            // the source is the storage
	fresh  bool            // the source has delivered nothing
	ended  bool            // nothing follows the queue
}

// watchOpener is the part of a storage, or of a cache, that opens watches.
type watchOpener interface {
	Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error)
}

// openSharedWatch opens a watch of a cache.
func openSharedWatch(ctx context.Context, from, cache watchOpener, key string, opts storage.ListOptions) (watch.Interface, error) {
	r := &sharedWatch{storage: from, cache: cache, key: key, opts: opts, out: make(chan watch.Event)}
	ctx, r.cancel = context.WithCancel(ctx)
	if err := r.open(ctx); err != nil {
		r.cancel()
		return nil, err
	}
	go r.run(ctx)
	return r, nil
}

// ResultChan implements watch.Interface.
func (r *sharedWatch) ResultChan() <-chan watch.Event { return r.out }

// Stop implements watch.Interface.
func (r *sharedWatch) Stop() { r.cancel() }

// open opens a watch of the cache, or of the storage if the cache refuses.
func (r *sharedWatch) open(ctx context.Context) (err error) {
	r.fresh = true
	if !r.own {
		if r.source, err = r.cache.Watch(ctx, r.key, r.opts); err == nil {
			return nil
		}
	}
	r.own = true
	r.source, err = r.storage.Watch(ctx, r.key, r.opts)
	return err
}

// run relays events until the watch ends.
func (r *sharedWatch) run(ctx context.Context) {
	defer close(r.out)
	defer r.cancel()
	defer func() {
		if r.source != nil {
			r.source.Stop() // it may wait for a reader, which the end of ctx does not end
		}
	}()
	for !r.ended || len(r.queue) > 0 {
		if r.source == nil && !r.ended && len(r.queue) == 0 {
			if err := r.open(ctx); err != nil {
				return // the client watches again
			}
		}
		var in <-chan watch.Event
		if r.source != nil && len(r.queue) < maxQueuedEvents {
			in = r.source.ResultChan()
		}
		var out chan<- watch.Event
		var oldest watch.Event
		if len(r.queue) > 0 {
			out, oldest = r.out, r.queue[0]
		}
		select {
		case out <- oldest:
			r.queue[0] = watch.Event{}
			r.queue = r.queue[1:]
		case e, ok := <-in:
			r.receive(e, ok)
		case <-ctx.Done():
			return
		}
	}
}

// receive handles an event of the source, or its end.
func (r *sharedWatch) receive(e watch.Event, ok bool) {
	switch {
	case !ok || e.Type == watch.Error && r.fresh && !r.own:
		r.source.Stop()
		r.source = nil
		// The objects that the client has cannot be told from those that are missing.
		r.ended = r.own || r.opts.SendInitialEvents != nil && !r.fresh
		r.own = r.own || r.fresh
		return
	case e.Type == watch.Error:
		r.ended = true
	}
	r.queue, r.fresh = append(r.queue, e), false
	r.noteVersion(e)
}

// noteVersion notes where a watch goes on after an event.
func (r *sharedWatch) noteVersion(e watch.Event) {
	if complete, err := storage.HasInitialEventsEndBookmarkAnnotation(e.Object); r.opts.SendInitialEvents != nil && (err != nil || !complete) {
		return
	}
	if o, err := meta.Accessor(e.Object); err == nil {
		r.opts.ResourceVersion, r.opts.SendInitialEvents = o.GetResourceVersion(), nil
	}
}
