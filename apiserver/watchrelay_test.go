package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/ctrlplane/ctrlplane/etcd"
)

// historyWatcher is a store with one event per revision. Its watches send all events
// from their revision on in responses of batch events, and then stay open.
type historyWatcher struct {
	clientv3.Watcher
	revisions, eventBytes, batch int
	opened                       []int64 // the revision of each watch
}

func (h *historyWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	rev := clientv3.OpGet(key, opts...).Rev()
	h.opened = append(h.opened, rev)
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for rev <= int64(h.revisions) {
			var resp clientv3.WatchResponse
			for range h.batch {
				if rev <= int64(h.revisions) {
					resp.Events = append(resp.Events, &clientv3.Event{Kv: &mvccpb.KeyValue{ModRevision: rev, Value: make([]byte, h.eventBytes)}})
					rev++
				}
			}
			select {
			case out <- resp:
			case <-ctx.Done():
				return
			}
		}
		<-ctx.Done()
	}()
	return out
}

// A watch may begin again after its latest bookmark: etcd keeps revisions for two intervals.
func TestBookmarksComeAsOftenAsEtcdExpects(t *testing.T) {
	if bookmarkInterval != etcd.BookmarkInterval {
		t.Errorf("bookmarks come every %v, and etcd expects %v", bookmarkInterval, etcd.BookmarkInterval)
	}
}

// A client that does not read stops its watch at the limits, whatever is written. Once
// it reads, it gets every event once, in order.
func TestStalledWatchIsBounded(t *testing.T) {
	for _, batch := range []int{1, 7, 1000} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				h := &historyWatcher{revisions: 100, eventBytes: 1 << 20, batch: batch}
				flow := newWatchFlow()
				flow.beginWrite() // it does not end: the client does not read
				out := relayWatch(ctx, h, flow, false, "/registry/pods/", clientv3.WithRev(1))
				var buffered []*clientv3.Event // as upstream's buffers, which take any number here
				drain := func() {
					for {
						synctest.Wait()
						select {
						case resp := <-out:
							buffered = append(buffered, resp.Events...)
						default:
							return
						}
					}
				}
				drain()
				if got, limit := len(buffered)<<20, 2*maxUnwrittenBytes+1<<20; got > limit {
					t.Errorf("%d bytes were passed on to a client that does not read, want at most %d", got, limit)
				}
				if len(h.opened) == 0 || h.opened[0] != 1 {
					t.Fatalf("opened at %v", h.opened)
				}
				for range h.revisions {
					flow.endWrite()
					drain()
					flow.beginWrite()
				}
				drain()
				if len(buffered) != h.revisions {
					t.Errorf("got %d events, want %d", len(buffered), h.revisions)
				}
				for i, e := range buffered {
					if e.Kv.ModRevision != int64(i+1) {
						t.Fatalf("event %d has revision %d; watches were opened at %v", i, e.Kv.ModRevision, h.opened)
					}
				}
				cancel()
				synctest.Wait()
				if _, ok := <-out; ok {
					t.Error("the watch goes on after its end")
				}
			})
		})
	}
}

// The queue of a relay that upstream does not read is bounded, too.
func TestRelayQueueIsBounded(t *testing.T) {
	for _, batch := range []int{1, 1000} {
		r := &watchRelay{flow: newWatchFlow()}
		h := &historyWatcher{revisions: 100, eventBytes: 1 << 20, batch: batch}
		full := false
		for resp := range h.Watch(t.Context(), "/", clientv3.WithRev(1)) {
			if full = r.enqueue(resp); full {
				break
			}
		}
		if !full || r.queued > maxQueuedBytes+h.eventBytes || r.next != int64(r.queued/h.eventBytes+1) {
			t.Errorf("batches of %d: full %v, %d bytes, next revision %d", batch, full, r.queued, r.next)
		}
	}
}

// After events, a client that allows bookmarks gets one, although the store sends no
// progress notifications to a watch that gets events.
func TestBookmarkAfterEvents(t *testing.T) {
	for _, bookmarks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := &historyWatcher{revisions: 5, eventBytes: 1, batch: 5}
			out := relayWatch(ctx, h, newWatchFlow(), bookmarks, "/registry/pods/", clientv3.WithRev(1))
			if resp := <-out; len(resp.Events) != 5 {
				t.Fatalf("got %d events", len(resp.Events))
			}
			timeout, stop := context.WithTimeout(ctx, 10*bookmarkInterval)
			defer stop()
			var got []int64
			for timeout.Err() == nil {
				select {
				case resp := <-out:
					if !resp.IsProgressNotify() {
						t.Errorf("got %+v", resp)
					}
					got = append(got, resp.Header.Revision)
				case <-timeout.Done():
				}
			}
			if bookmarks && (len(got) != 1 || got[0] != 5) || !bookmarks && len(got) != 0 {
				t.Errorf("bookmarks %v: got progress %v", bookmarks, got)
			}
			cancel()
			synctest.Wait()
		})
	}
}

// waitingWriter is a connection whose client reads only after each call of onWait.
type waitingWriter struct {
	*httptest.ResponseRecorder
	onWait func()
}

func (w waitingWriter) Write(p []byte) (int, error) {
	w.onWait()
	return w.ResponseRecorder.Write(p)
}

func (w waitingWriter) Flush() { w.onWait() }

func (w waitingWriter) CloseNotify() <-chan bool { return nil }

// A flow is stalled while a write of its watch request waits for the client.
func TestWatchFlow(t *testing.T) {
	var flow *watchFlow
	h := withWatchFlow(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		flow = flowFrom(req.Context())
		for _, write := range []func(){
			func() { _, _ = w.Write([]byte("event")) },
			w.(http.Flusher).Flush,
		} {
			flow.passOn(maxUnwrittenBytes)
			if flow.isStalled() {
				t.Error("stalled although nothing is being written")
			}
			write()
			if flow.isStalled() || flow.unwritten != 0 || len(flow.wrote) != 1 {
				t.Errorf("after a write: %+v", flow)
			}
		}
	}))
	waits := 0
	w := waitingWriter{httptest.NewRecorder(), func() {
		if waits++; !flow.isStalled() {
			t.Error("not stalled although a write waits")
		}
	}}
	req := httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=1", nil)
	info := &request.RequestInfo{IsResourceRequest: true, Verb: "watch"}
	h.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	if waits != 2 {
		t.Errorf("%d writes reached the client, want 2", waits)
	}
}
