package clients

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// TestFrameIsReadOnce sends the same frames to many watches at once.
func TestFrameIsReadOnce(t *testing.T) {
	var reads atomic.Int64
	parse := recording.WatchEventParser("application/json")
	counting := func(frame []byte) recording.WatchEvent {
		reads.Add(1)
		return parse(frame)
	}
	f := newFrames()
	var watches sync.WaitGroup
	for range 50 {
		watches.Go(func() {
			for i := range keptFrames {
				name := fmt.Sprintf("shop-%d", i)
				sent := []byte(frame("MODIFIED", object("Site", name, "u", "7", "")))
				e := f.read(counting, sent)
				clear(sent) // the server uses its buffer again
				if e.name != name || e.change != observe.Updated || e.version != "7" {
					t.Errorf("%s: %+v", name, e)
				}
			}
		})
	}
	watches.Wait()
	if n := reads.Load(); n != keptFrames {
		t.Errorf("%d frames were read %d times", keptFrames, n)
	}
	long := []byte(frame("ADDED", object("Site", "long", "u", "8", "")) + string(make([]byte, maxKeptFrame)))
	for range 2 {
		if e := f.read(counting, long); e.name != "long" {
			t.Errorf("a long frame: %+v", e)
		}
	}
	first := []byte(frame("MODIFIED", object("Site", "shop-0", "u", "7", "")))
	f.read(counting, first)
	if n := reads.Load(); n != keptFrames+2 {
		t.Errorf("a long frame and a kept one: read %d times more", n-keptFrames)
	}
	for i := range keptFrames {
		f.read(counting, []byte(frame("DELETED", object("Site", fmt.Sprint("other-", i), "u", "9", ""))))
	}
	if e := f.read(counting, first); e.name != "shop-0" || reads.Load() != 2*keptFrames+3 {
		t.Errorf("a frame that is not kept any more: %+v after %d reads", e, reads.Load())
	}
	if len(f.byHash) != keptFrames {
		t.Errorf("%d frames are kept", len(f.byHash))
	}
}

// TestEventOfManyWatchesCountsOnce: a program has several informers of the same objects.
func TestEventOfManyWatchesCountsOnce(t *testing.T) {
	testutil.RequireFineClock(t)
	f := newFixture(t)
	cl := newClient("operator", f.clients.config.Objects, new(atomic.Int64))
	sent := []byte(frame("MODIFIED", object("Site", "shop", "u", "7", "")))
	var watches []*watch
	for i := range 3 {
		req := httptest.NewRequest("GET", sites+"?watch=1", nil)
		req.RemoteAddr = fmt.Sprint("127.0.0.1:", 1000+i)
		w := newWatch(req, &observe.Called{Object: observe.Object{Group: "example.com", Resource: "sites"}}, f.clients.frames)
		w.begin("application/json;stream=watch")
		cl.addWatch(w)
		watches = append(watches, w)
	}
	for _, w := range []*watch{watches[1], watches[0], watches[2]} {
		w.sent(sent)
	}
	req := httptest.NewRequest("PUT", sites+"/shop", nil)
	req.RemoteAddr = "127.0.0.1:1"
	w := &write{began: time.Now()}
	cl.collectEvents(newRequest(f.observer, f.clients.frames, cl, req, &observe.Caller{}), w)
	if len(w.events) != 1 || w.events[0] != watches[1].events[0].event {
		t.Errorf("%d events", len(w.events))
	}
}

// TestLaterListCounts: a program starts an informer of objects that it has an informer of.
func TestLaterListCounts(t *testing.T) {
	for _, age := range []time.Duration{30 * time.Second, 2 * time.Minute} {
		f := newFixture(t)
		cl := newClient("operator", f.clients.config.Objects, new(atomic.Int64))
		sent := []byte(frame("ADDED", object("Site", "shop", "u", "7", "")))
		var watches []*watch
		for range 2 {
			req := httptest.NewRequest("GET", sites+"?watch=1&sendInitialEvents=true", nil)
			w := newWatch(req, &observe.Called{Began: time.Now(), Object: observe.Object{Group: "example.com", Resource: "sites"}}, f.clients.frames)
			w.begin("application/json;stream=watch")
			cl.addWatch(w)
			watches = append(watches, w)
			w.sent(sent)
		}
		old := &watches[0].events[0]
		old.at = time.Now().Add(-age)
		old.event.at = old.at
		var answer recording.ResponseSummary
		answer.Metadata.Name, answer.Metadata.UID, answer.Metadata.ResourceVersion = "shop", "u", "100"
		req := httptest.NewRequest("PATCH", sites+"/shop", nil)
		req.RemoteAddr = "other"
		r := newRequest(f.observer, f.clients.frames, cl, req, &observe.Caller{})
		r.call.Began = time.Now()
		if seq, _ := cl.likelyCause(r, answer); seq == 0 || seq != watches[1].events[0].seq {
			t.Errorf("%v after the first list: the cause of the write is not the second one, but %d", age, seq)
		}
	}
}

func BenchmarkCauseWithManyWatches(b *testing.B) {
	o := observe.New(observe.Options{})
	defer o.Close()
	c := New(Config{Observer: o, OwnPath: "/ctrlplane"})
	f, cl := c.frames, newClient("operator", c.config.Objects, new(atomic.Int64))
	for range 100 {
		w := newWatch(httptest.NewRequest("GET", sites+"?watch=1", nil), &observe.Called{Object: observe.Object{Group: "example.com", Resource: "sites"}}, f)
		w.conn = fmt.Sprint(len(cl.watches))
		w.begin("application/json;stream=watch")
		cl.addWatch(w)
	}
	for i := range keptEvents {
		for _, w := range cl.watches {
			w.sent([]byte(frame("MODIFIED", object("Site", fmt.Sprint("shop-", i), fmt.Sprint("u", i), fmt.Sprint(7+i), ""))))
		}
	}
	var answer recording.ResponseSummary
	answer.Metadata.Name, answer.Metadata.UID, answer.Metadata.ResourceVersion = "shop-5", "u5", "100"
	req := httptest.NewRequest("PATCH", sites+"/shop-5", nil)
	req.RemoteAddr = "other"
	b.ReportAllocs()
	for b.Loop() {
		cl.likelyCause(newRequest(o, f, cl, req, &observe.Caller{}), answer)
	}
}
