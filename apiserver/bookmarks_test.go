package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// optionCounter is a Watcher that counts the options of a watch.
type optionCounter struct {
	clientv3.Watcher
	options int
}

func (a *optionCounter) Watch(_ context.Context, _ string, opts ...clientv3.OpOption) clientv3.WatchChan {
	a.options = len(opts)
	return nil
}

func TestBookmarksOnlyForWatchesThatAllowThem(t *testing.T) {
	for query, want := range map[string]int{
		"":                          1,
		"watch=1":                   1,
		"allowWatchBookmarks=true":  2,
		"allowWatchBookmarks=1":     2,
		"allowWatchBookmarks=":      2, // as upstream reads it
		"allowWatchBookmarks=false": 1,
		"allowWatchBookmarks=0":     1,
		"fieldSelector=metadata.name%3DallowWatchBookmarks": 1,
	} {
		w := &optionCounter{}
		h := withBookmarkMark(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			bookmarkWatcher{w}.Watch(req.Context(), "/registry/pods/", clientv3.WithPrefix())
		}))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+query, nil))
		if w.options != want {
			t.Errorf("%q: %d options, want %d", query, w.options, want)
		}
	}
}
