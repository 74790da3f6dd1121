package apiserver

import (
	"context"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxQueuedBytes is how many bytes of events a watch keeps that upstream's buffers do
// not accept. Etcd's client has no such limit.
const maxQueuedBytes = 8 << 20

// bookmarkInterval is the age of a watch's newest event after which its client gets a
// bookmark. Etcd sends progress notifications as often, but none to a watch that got
// events, although the client's selector may have excluded all of them.
const bookmarkInterval = 30 * time.Second

// watchRelay bounds the memory of a watch whose client does not read. Beyond the limit
// it closes the watch of the store, and opens it again, at the next revision, once the
// client has read what is queued. The client does not notice, unless it stalls until
// that revision is compacted: then it gets the error that any late watch gets.
type watchRelay struct {
	watcher   clientv3.Watcher
	key       string
	opts      []clientv3.OpOption
	flow      *watchFlow
	bookmarks bool // the client gets a bookmark after events

	source clientv3.WatchChan // nil while the watch of the store is closed
	cancel context.CancelFunc // closes the source
	out    chan clientv3.WatchResponse
	queue  []queuedResponse
	queued int   // bytes
	next   int64 // the revision after the newest in the queue
}

type queuedResponse struct {
	clientv3.WatchResponse
	bytes int
}

// relayWatch opens a watch and returns its responses.
func relayWatch(ctx context.Context, watcher clientv3.Watcher, flow *watchFlow, bookmarks bool, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	r := &watchRelay{watcher: watcher, key: key, opts: opts, flow: flow, bookmarks: bookmarks, out: make(chan clientv3.WatchResponse)}
	r.open(ctx)
	go r.run(ctx)
	return r.out
}

// open opens the watch of the store, the first time with the client's revision.
func (r *watchRelay) open(ctx context.Context) {
	opts := r.opts
	if r.next > 0 {
		opts = append(slices.Clip(opts), clientv3.WithRev(r.next))
	}
	ctx, r.cancel = context.WithCancel(ctx)
	r.source = r.watcher.Watch(ctx, r.key, opts...)
}

// run relays until the watch ends or fails, or ctx ends.
func (r *watchRelay) run(ctx context.Context) {
	defer func() { r.cancel() }()
	defer close(r.out)
	var bookmarkDue <-chan time.Time
	for ended := false; !ended || len(r.queue) > 0; {
		if r.source == nil && !ended && len(r.queue) == 0 {
			r.open(ctx)
		}
		var out chan<- clientv3.WatchResponse
		var oldest queuedResponse
		if len(r.queue) > 0 && !r.flow.isStalled() {
			out, oldest = r.out, r.queue[0]
		}
		select {
		case out <- oldest.WatchResponse:
			r.flow.passOn(oldest.bytes)
			r.queued -= oldest.bytes
			r.queue[0] = queuedResponse{}
			r.queue = r.queue[1:]
		case resp, ok := <-r.source:
			if !ok {
				r.source, ended = nil, true
				continue
			}
			if r.enqueue(resp) {
				r.cancel()
				r.source = nil
			}
			if r.bookmarks && bookmarkDue == nil && len(resp.Events) > 0 {
				bookmarkDue = time.After(bookmarkInterval)
			}
		case <-r.flow.wrote:
		case <-bookmarkDue:
			bookmarkDue = nil
			if !ended {
				r.enqueue(clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: r.next - 1}})
			}
		case <-ctx.Done():
			return
		}
	}
}

// enqueue adds a response to the queue, and reports whether the queue is full. Then
// the end of the response may be left out, which is not before the next revision.
func (r *watchRelay) enqueue(resp clientv3.WatchResponse) (full bool) {
	added := queuedResponse{WatchResponse: resp}
	for i, e := range resp.Events {
		if full = r.queued+added.bytes > maxQueuedBytes; full && i > 0 && e.Kv.ModRevision != resp.Events[i-1].Kv.ModRevision {
			added.Events = slices.Clone(resp.Events[:i]) // releases the others
			break
		}
		added.bytes += eventBytes(e)
	}
	r.queue = append(r.queue, added)
	r.queued += added.bytes
	if n := len(added.Events); n > 0 {
		r.next = added.Events[n-1].Kv.ModRevision + 1
	} else if resp.IsProgressNotify() {
		r.next = max(r.next, resp.Header.Revision+1)
	}
	return r.queued > maxQueuedBytes && resp.Err() == nil
}

func eventBytes(e *clientv3.Event) int {
	n := len(e.Kv.Key) + len(e.Kv.Value)
	if e.PrevKv != nil {
		n += len(e.PrevKv.Value)
	}
	return n
}
