package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
)

// barrierFixture is a barrier in front of a handler that blocks until it is released.
type barrierFixture struct {
	barrier *writeBarrier
	writes  *namespaceWrites
	handler http.Handler
	entered chan string // names of the requests that reach the handler
	release chan struct{}
}

func newBarrierFixture() *barrierFixture {
	f := &barrierFixture{entered: make(chan string, 10), release: make(chan struct{})}
	config := &server.RecommendedConfig{Config: server.Config{
		BuildHandlerChainFunc: func(h http.Handler, _ *server.Config) http.Handler { return h },
	}}
	f.barrier, f.writes = installWriteBarrier(config)
	f.handler = config.BuildHandlerChainFunc(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		f.entered <- info.Name
		<-f.release
	}), nil)
	return f
}

// sendRequest sends a request; the channel receives the answer.
func (f *barrierFixture) sendRequest(ctx context.Context, who, verb, name string) <-chan *httptest.ResponseRecorder {
	info := &request.RequestInfo{IsResourceRequest: true, Verb: verb, APIVersion: "v1", Resource: "pods", Namespace: "default", Name: name}
	ctx = request.WithUser(request.WithRequestInfo(ctx, info), &user.DefaultInfo{Name: who})
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil).WithContext(ctx))
		answer <- w
	}()
	synctest.Wait()
	return answer
}

func (f *barrierFixture) enteredNames() (names []string) {
	for {
		select {
		case name := <-f.entered:
			names = append(names, name)
		default:
			return names
		}
	}
}

func TestWriteBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		f := newBarrierFixture()
		first := f.sendRequest(ctx, "alice", "update", "first")
		closed := make(chan error, 1)
		go func() { closed <- f.barrier.close(ctx) }()
		synctest.Wait()

		blocked := f.sendRequest(ctx, "bob", "delete", "blocked")
		f.sendRequest(ctx, "bob", "get", "read")
		f.sendRequest(ctx, user.APIServerUser, "create", "nested") // on behalf of the first
		canceled, cancel := context.WithCancelCause(ctx)
		gone := f.sendRequest(canceled, "bob", "create", "gone")
		if got := strings.Join(f.enteredNames(), " "); got != "first read nested" {
			t.Errorf("admitted: %q", got)
		}
		select {
		case err := <-closed:
			t.Fatalf("closed while a write is in flight: %v", err)
		default:
		}
		cancel(errors.New("client gone"))
		synctest.Wait()
		if w := <-gone; w.Code != http.StatusGatewayTimeout || !strings.Contains(w.Body.String(), "client gone") || strings.Contains(w.Body.String(), "restored") {
			t.Errorf("canceled: %d %s", w.Code, w.Body)
		}
		close(f.release)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if w := <-first; w.Code != http.StatusOK {
			t.Errorf("the first: %d", w.Code)
		}
		own := f.sendRequest(ctx, user.APIServerUser, "create", "own") // no write is in flight that it could belong to
		if got := f.enteredNames(); len(got) != 0 {
			t.Errorf("admitted by a closed barrier: %v", got)
		}
		if err := f.barrier.close(ctx); err == nil {
			t.Error("closed twice")
		}
		f.barrier.open(true)
		for name, of := range map[string]struct {
			answer <-chan *httptest.ResponseRecorder
			code   int
			reason metav1.StatusReason
		}{
			"blocked": {blocked, http.StatusConflict, metav1.StatusReasonConflict},
			"own":     {own, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable},
		} {
			w := <-of.answer
			var s metav1.Status
			if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != of.code || s.Reason != of.reason || !strings.Contains(s.Message, "was restored to another state") {
				t.Errorf("%s: %d %s, %v", name, w.Code, w.Body, err)
			}
			if w.Header().Get("Retry-After") != "" {
				t.Errorf("%s: has a Retry-After header: the client would send the same write again", name)
			}
		}
		if w := <-f.sendRequest(ctx, "bob", "create", "after"); w.Code != http.StatusOK {
			t.Errorf("after it: %d", w.Code)
		}
	})
}

// If a write does not end in time, the barrier opens again.
func TestWriteBarrierOpensAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newBarrierFixture()
		slow := f.sendRequest(t.Context(), "alice", "update", "slow")
		ctx, cancel := context.WithTimeout(t.Context(), writeDrainTimeout)
		defer cancel()
		closed := make(chan error, 1)
		go func() { closed <- f.barrier.close(ctx) }()
		synctest.Wait()
		blocked := f.sendRequest(t.Context(), "bob", "create", "blocked")
		began := time.Now()
		if err := <-closed; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 write is still in flight") || time.Since(began) != writeDrainTimeout {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		close(f.release)
		for _, answer := range []<-chan *httptest.ResponseRecorder{slow, blocked, f.sendRequest(t.Context(), "bob", "create", "after")} {
			if w := <-answer; w.Code != http.StatusOK {
				t.Errorf("got %d", w.Code)
			}
		}
		if err := f.barrier.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestIsObjectWrite(t *testing.T) {
	for want, all := range map[bool][]request.RequestInfo{
		true: {
			{Verb: "create", Resource: "pods"}, {Verb: "deletecollection", Resource: "pods"},
			{Verb: "create", Resource: "pods", Subresource: "binding"}, {Verb: "patch", Resource: "nodes", Subresource: "status"},
			{Verb: "create", APIGroup: "example.com", Resource: "leases"},
		},
		false: {
			{Verb: "get", Resource: "pods"}, {Verb: "watch", Resource: "pods"},
			{Verb: "create", Resource: "pods", Subresource: "exec"}, {Verb: "create", Resource: "serviceaccounts", Subresource: "token"},
			{Verb: "create", APIGroup: "authorization.k8s.io", Resource: "subjectaccessreviews"},
			{Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases"},
		},
	} {
		for _, info := range all {
			info.IsResourceRequest = true
			if isObjectWrite(&info) != want {
				t.Errorf("%+v: want %v", info, want)
			}
		}
	}
	if isObjectWrite(&request.RequestInfo{Verb: "post", Path: "/ctrlplane/v1/reset"}) {
		t.Error("a request for something else than a resource is blocked")
	}
}
