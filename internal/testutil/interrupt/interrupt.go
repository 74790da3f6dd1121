// Package interrupt tests requests that end while their response is read.
package interrupt

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Test ends the context of request while the response of a path is read, as Ctrl-C does. Other paths are
// answered by others. It fails the test if that was not requested, or if client-go has logged anything: a
// line on stderr would be one too many, as the error is the caller's.
func Test(t *testing.T, path string, others http.Handler, request func(context.Context, *rest.Config)) {
	t.Helper()
	var mu sync.Mutex
	var logged []string
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, args)
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != path {
			others.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte("{")); err != nil {
			t.Error(err)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-req.Context().Done()
	}))
	defer server.Close()
	request(ctx, &rest.Config{Host: server.URL, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return cancelOnResponse{next, path, cancel}
	}})
	if ctx.Err() == nil {
		t.Errorf("%s was not requested", path)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(logged) > 0 {
		t.Errorf("logged %q", logged)
	}
}

// cancelOnResponse calls cancel when the response of a path has begun.
type cancelOnResponse struct {
	next   http.RoundTripper
	path   string
	cancel func()
}

func (c cancelOnResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == c.path {
		defer c.cancel()
	}
	return c.next.RoundTrip(req)
}
