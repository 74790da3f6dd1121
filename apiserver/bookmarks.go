package apiserver

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Bookmarks are made of what etcd tells quiet watches. Upstream asks etcd for that on
// behalf of its watch cache only; without one, whose request allows bookmarks has to
// be told apart here, or each informer whose kind is quiet would find the revision that
// it knows compacted, and list anew.

// bookmarksKey marks the context of such a request.
type bookmarksKey struct{}

// installBookmarkMarks marks the requests that allow bookmarks.
func installBookmarkMarks(config *server.RecommendedConfig) {
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		return build(withBookmarkMark(h), cfg)
	}
}

func withBookmarkMark(h http.Handler) http.Handler {
	const parameter = "allowWatchBookmarks"
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.RawQuery, parameter) { // most do not watch
			values, allowed := req.URL.Query()[parameter], false
			if err := runtime.Convert_Slice_string_To_bool(&values, &allowed, nil); err == nil && allowed {
				req = req.WithContext(context.WithValue(req.Context(), bookmarksKey{}, true))
			}
		}
		h.ServeHTTP(w, req)
	})
}

// bookmarkWatcher asks etcd for progress where the request is marked.
type bookmarkWatcher struct{ clientv3.Watcher }

func (b bookmarkWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	if ctx.Value(bookmarksKey{}) != nil {
		opts = append(opts, clientv3.WithProgressNotify())
	}
	return b.Watcher.Watch(ctx, key, opts...)
}
