package apiserver

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/server"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The API server creates bookmarks from the progress notifications of etcd watches.
// Upstream requests these for its watch cache only. Without a watch cache they are
// requested here for watches that allow bookmarks. An informer that gets none while its
// kind does not change would find its revision compacted, and list again.

// bookmarksKey is the key of a context value that marks a request that allows
// bookmarks.
type bookmarksKey struct{}

// installBookmarkMarks marks the requests that allow bookmarks.
func installBookmarkMarks(config *server.RecommendedConfig) {
	wrapInside(config, withBookmarkMark)
}

func withBookmarkMark(h http.Handler) http.Handler {
	const parameter = "allowWatchBookmarks"
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.RawQuery, parameter) { // cheaper than parsing each query
			values, allowed := req.URL.Query()[parameter], false
			if err := runtime.Convert_Slice_string_To_bool(&values, &allowed, nil); err == nil && allowed {
				req = req.WithContext(context.WithValue(req.Context(), bookmarksKey{}, true))
			}
		}
		h.ServeHTTP(w, req)
	})
}

// bookmarkWatcher requests progress notifications for marked requests, and bounds the
// memory of the watches that clients request.
type bookmarkWatcher struct{ clientv3.Watcher }

func (b bookmarkWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	bookmarks := ctx.Value(bookmarksKey{}) != nil
	if bookmarks {
		opts = append(opts, clientv3.WithProgressNotify())
	}
	if flow := flowFrom(ctx); flow != nil {
		return relayWatch(ctx, b.Watcher, flow, bookmarks, key, opts...)
	}
	return b.Watcher.Watch(ctx, key, opts...)
}
