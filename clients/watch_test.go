package clients

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// delivered writes chunks to a watch and returns how many events it has delivered then.
func delivered(t *testing.T, contentType string, chunks ...string) (n int64) {
	t.Helper()
	f := newFixture(t)
	req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, sites+"?watch=1", nil)
	f.clients.Handle(httptest.NewRecorder(), req, operator, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, chunk := range chunks {
			io.WriteString(w, chunk)
		}
		n = f.clients.Snapshot()[0].Watches[0].Delivered
	}))
	return n
}

// A proxy, as of an aggregated API, copies what has arrived: that need not be one event.
func TestChunksOfWatches(t *testing.T) {
	one, two := frame("ADDED", object("Site", "a", "u1", "1")), frame("ADDED", object("Site", "b", "u2", "2"))
	bookmark := `{"type":"BOOKMARK","object":{"kind":"Site","metadata":{"resourceVersion":"3"}}}` + "\n"
	const protoEvent = "\x0a\x05ADDED\x12\x0d\x0a\x0bk8s\x00\x0a\x02v1\x12\x01S"
	length := string([]byte{0, 0, 0, byte(len(protoEvent))})
	const proto = "application/vnd.kubernetes.protobuf;stream=watch"
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	gone := frame("ERROR", `{"kind":"Status","code":410}`)
	for name, test := range map[string]struct {
		contentType string
		chunks      []string
		want        int64
	}{
		"events":                   {"application/json", []string{one, bookmark, two, gone}, 2},
		"two in a chunk":           {"application/json", []string{one + two}, -1},
		"a part":                   {"application/json", []string{one, two[:20], two[20:]}, -1},
		"the beginning":            {"application/json", []string{one, two[:len(two)-2]}, -1},
		"the end of a line":        {"application/json", []string{one[:len(one)-1], "\n", two}, -1},
		"proto":                    {proto, []string{length, protoEvent, length, protoEvent}, 2},
		"proto with its length":    {proto, []string{length + protoEvent}, -1},
		"proto in parts":           {proto, []string{length, protoEvent[:9], protoEvent[9:]}, -1},
		"the beginning of proto":   {proto, []string{length, protoEvent, length, protoEvent[:9]}, -1},
		"proto without its length": {proto, []string{length, protoEvent, protoEvent}, -1},
		"table":                    {table, []string{one, bookmark, two, gone}, 2},
		"two in a table chunk":     {table, []string{one + two}, -1},
		"a part of a table":        {table, []string{one[:20]}, -1},
		"a line of a table":        {table, []string{one[:len(one)-1], "\n"}, -1},
		"CBOR":                     {"application/cbor-seq", []string{"\xd9\xd9\xf7", "\xa2dtypeeADDED"}, -1},
		"another format":           {"text/plain", []string{"hello"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			if n := delivered(t, test.contentType, test.chunks...); n != test.want {
				t.Errorf("%d events are counted, want %d", n, test.want)
			}
		})
	}
}

// A burst of events is remembered for as long as a write may follow from it.
func TestEventsOfABurstAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		expect := func(want int64, when string) {
			t.Helper()
			synctest.Wait()
			if n := f.clients.frames.recent.Load(); n != want {
				t.Errorf("%d events are remembered beyond the last %d %s, want %d", n, keptEvents, when, want)
			}
		}
		burst := func(send func(string), from int) {
			for i := range 3 * keptEvents {
				send(frame("ADDED", numbered("Site", i, from+i)))
			}
		}
		const path = sites + "?watch=1&resourceVersion=1"
		send, end := f.watch(path, operatorAgent, operator)
		burst(send, 100)
		expect(2*keptEvents, "at once")
		time.Sleep(2 * maxReaction)
		expect(0, "later")

		burst(send, 500)
		end()
		expect(2*keptEvents, "at the end of the watch")
		time.Sleep(maxSettle)
		expect(0, "after a watch that no other one continues")

		send, end = f.watch(path, operatorAgent, operator)
		burst(send, 900)
		end()
		_, end = f.watch(path, operatorAgent, operator)
		time.Sleep(maxSettle)
		expect(2*keptEvents, "after a watch that another one continues")
		end()
		time.Sleep(2 * maxReaction)
		expect(0, "long after")
		cl := f.clients.sorted()[0]
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if len(cl.ended) > 0 {
			t.Errorf("%d watches are kept", len(cl.ended))
		}
	})
}

// A watch that is opened again and again remembers no more events than all watches may.
func TestEventsOfManyBurstsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for range keptRecent/maxRecent + 2 {
			send, end := f.watch(sites+"?watch=1&resourceVersion=1", operatorAgent, operator)
			for i := range maxRecent {
				send(frame("MODIFIED", numbered("Site", i, 100+i)))
			}
			end()
		}
		if n := f.clients.frames.recent.Load(); n > keptRecent {
			t.Errorf("%d events are remembered, want at most %d", n, keptRecent)
		}
	})
}

// Only so many watches that have ended are remembered.
func TestEndedWatchesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var first *watch
		for i := range maxEnded + 1 {
			send, end := f.watch(fmt.Sprintf("%s?watch=1&labelSelector=i%%3D%d", sites, i), operatorAgent, operator)
			send(frame("ADDED", numbered("Site", i, 100+i)))
			end()
			if cl := f.clients.sorted()[0]; first == nil {
				first = cl.ended[0]
			} else if i == maxEnded && len(cl.ended) != maxEnded {
				t.Errorf("%d watches are kept", len(cl.ended))
			}
		}
		if len(first.events) > 0 {
			t.Error("the events of a watch that is forgotten are kept")
		}
	})
}

// A watch that does not say where to begin is first sent what exists: that was not added now.
func TestExistingObjectsAreListed(t *testing.T) {
	for name, test := range map[string]struct {
		query      string
		version    string
		aggregated bool
		want       observe.Change
	}{
		"without a version":      {"", "7", false, observe.Listed},
		"with version 0":         {"&resourceVersion=0", "7", false, observe.Listed},
		"of the last version":    {"", "20", false, observe.Listed},
		"created since":          {"", "21", false, observe.Added},
		"from a version":         {"&resourceVersion=5", "7", false, observe.Added},
		"without initial events": {"&sendInitialEvents=false", "7", false, observe.Added},
		"of another storage":     {"", "7", true, observe.Added},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.clients.config.Revision = func() int64 { return 20 }
			f.clients.config.IsAggregated = func(string) bool { return test.aggregated }
			send, end := f.watch(sites+"?watch=1"+test.query, operatorAgent, operator)
			send(frame("ADDED", object("Site", "shop", "u1", test.version)))
			f.send(call{"POST", deployments, operatorAgent, operator, nil, 201, object("Deployment", "web", "d1", "30", "u1")})
			end()
			calls, events := f.records()
			if len(events) != 1 || events[0].Change != test.want {
				t.Errorf("events %+v, want %s", events, test.want)
			}
			if calls[1].Aggregated != test.aggregated {
				t.Errorf("%+v", calls[1])
			}
		})
	}
}

// A watch that has ended is forgotten, also one that others have continued.
func TestContinuedWatchesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{fixture: newFixture(t), truth: map[string]string{}}
		var forgotten atomic.Int64
		reopen := func() {
			_, end := s.watched(sites + "?watch=1&resourceVersion=1")
			for _, cl := range s.clients.byName {
				runtime.AddCleanup(cl.watches[len(cl.watches)-1], func(int) { forgotten.Add(1) }, 0)
			}
			ms(10_000)
			end()
		}
		reopen() // the client has none then
		s.watch(settings + "?watch=1&resourceVersion=1")
		for range 19 {
			reopen()
		}
		time.Sleep(2 * maxReaction)
		for range 100 {
			if runtime.GC(); forgotten.Load() == 20 {
				return
			}
			ms(1)
		}
		t.Errorf("%d of 20 watches are forgotten", forgotten.Load())
	})
}
