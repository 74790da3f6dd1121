package loopback

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/httplog"
	"k8s.io/klog/v2"
)

var alice = &user.DefaultInfo{Name: "alice"}

func newClient(h http.HandlerFunc) *http.Client {
	return &http.Client{Transport: Transport{Handler: h, User: alice}}
}

func doGet(t *testing.T, ctx context.Context, c *http.Client) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, URL+"/path?q=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

func TestRequestAndResponse(t *testing.T) {
	c := newClient(func(w http.ResponseWriter, req *http.Request) {
		sent, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if req.RequestURI != "/path?q=1" || req.Method != http.MethodPost || req.Header.Get("A") != "b" {
			t.Errorf("got %s %s %v", req.Method, req.RequestURI, req.Header)
		}
		w.Header().Set("Content-Type", "text/x")
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("Too-Late", "x")
		fmt.Fprintf(w, "you said %s", sent)
	})
	req, err := http.NewRequest(http.MethodPost, URL+"/path?q=1", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A", "b")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(body), "you said hello"; got != want {
		t.Errorf("body: got %q, want %q", got, want)
	}
	if resp.StatusCode != http.StatusTeapot || resp.Header.Get("Content-Type") != "text/x" || resp.Header.Get("Too-Late") != "" {
		t.Errorf("got %s %v", resp.Status, resp.Header)
	}
}

func TestResponseHasNoWarnings(t *testing.T) {
	resp, err := doGet(t, t.Context(), newClient(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "v1 Endpoints is deprecated"`)
		w.Header().Set("A", "b")
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Values("Warning"); len(got) > 0 || resp.Header.Get("A") != "b" {
		t.Errorf("got warnings %q and headers %v, want all headers but the warnings", got, resp.Header)
	}
}

func TestHandlerThatWritesNothingIsOK(t *testing.T) {
	resp, err := doGet(t, t.Context(), newClient(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %s", resp.Status)
	}
}

func TestResponseStreams(t *testing.T) {
	next := make(chan string)
	c := newClient(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		for s := range next {
			io.WriteString(w, s)
		}
	})
	resp, err := doGet(t, t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 16)
	for _, want := range []string{"one", "two"} {
		next <- want
		n, err := resp.Body.Read(buf)
		if got := string(buf[:n]); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	close(next)
	if _, err := resp.Body.Read(buf); err != io.EOF {
		t.Errorf("at the end: got %v, want EOF", err)
	}
}

func TestPeekLeavesTheBody(t *testing.T) {
	next := make(chan string)
	c := newClient(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		for s := range next {
			io.WriteString(w, s)
		}
	})
	resp, err := doGet(t, t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	go func() {
		defer close(next)
		for _, s := range []string{"on", "e two", " three"} {
			next <- s
		}
	}()
	for limit, want := range map[int]string{3: "one", 5: "one t", 100: "one two three"} {
		var got string
		resp.Body.(interface {
			Peek(limit int, read func(prefix []byte))
		}).Peek(limit, func(prefix []byte) { got = string(prefix) })
		if got != want {
			t.Errorf("the first %d bytes: got %q, want %q", limit, got, want)
		}
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "one two three" || err != nil {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestCloseCancelsTheHandler(t *testing.T) {
	ended := make(chan struct{})
	c := newClient(func(w http.ResponseWriter, req *http.Request) {
		defer close(ended)
		w.WriteHeader(http.StatusOK)
		<-req.Context().Done()
	})
	resp, err := doGet(t, t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	<-ended
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("read after close: got %v, want an error", err)
	}
}

func TestCancelBeforeTheHeader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	c := newClient(func(_ http.ResponseWriter, req *http.Request) {
		defer close(ended)
		cancel()
		<-req.Context().Done()
	})
	if _, err := doGet(t, ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
}

// A handler blocks while its response is not read, and continues when it is.
func TestSlowReaderBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunk, chunks = 1 << 20, 64
		var written atomic.Int64
		c := newClient(func(w http.ResponseWriter, _ *http.Request) {
			for range chunks {
				n, err := w.Write(make([]byte, chunk))
				if err != nil {
					t.Error(err)
				}
				written.Add(int64(n))
			}
		})
		resp, err := doGet(t, t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		synctest.Wait()
		if got := written.Load(); got > maxUnreadBytes+chunk {
			t.Errorf("%d bytes were accepted while nothing was read", got)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if n != chunk*chunks || err != nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
	})
}

func TestCloseUnblocksTheWriter(t *testing.T) {
	ended := make(chan error)
	c := newClient(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for err == nil {
			_, err = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		ended <- err
	})
	resp, err := doGet(t, t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("write: got %v", err)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	t.Run("before the header", func(t *testing.T) {
		_, err := doGet(t, t.Context(), newClient(func(http.ResponseWriter, *http.Request) { panic("boom") }))
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("after the header", func(t *testing.T) {
		resp, err := doGet(t, t.Context(), newClient(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if string(body) != "half" || err == nil {
			t.Errorf("got %q, %v: a cut response must not look whole", body, err)
		}
	})
}

func TestAuthenticatorRecognizesLoopbackCallers(t *testing.T) {
	outside := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "external"}}, true, nil
	})
	who := func(req *http.Request) string {
		resp, ok, err := Authenticator(outside).AuthenticateRequest(req)
		if err != nil || !ok {
			t.Fatalf("got %v, %v", ok, err)
		}
		return resp.User.GetName()
	}
	var inside string
	resp, err := doGet(t, t.Context(), newClient(func(_ http.ResponseWriter, req *http.Request) { inside = who(req) }))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if inside != "alice" {
		t.Errorf("inside: got %q", inside)
	}
	req, err := http.NewRequest(http.MethodGet, "https://127.0.0.1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := who(req); got != "external" {
		t.Errorf("outside: got %q", got)
	}
}

type callerKey struct{}

// The caller's context may belong to another request of the same server. Its values
// must not reach the handler, or that request's log entry and audit event would be
// used twice.
func TestHandlerContext(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.WithValue(t.Context(), callerKey{}, "caller"), deadline)
	defer cancel()
	resp, err := doGet(t, ctx, newClient(func(_ http.ResponseWriter, req *http.Request) {
		if got := req.Context().Value(callerKey{}); got != nil {
			t.Errorf("value of the caller's context: got %v, want none", got)
		}
		if got, ok := req.Context().Deadline(); !got.Equal(deadline) || !ok {
			t.Errorf("deadline: got %v, %v, want %v", got, ok, deadline)
		}
		if req.Context().Err() != nil {
			t.Errorf("ended before the caller's context: %v", req.Context().Err())
		}
		cancel()
		<-req.Context().Done()
		if got := req.Context().Err(); got != context.Canceled {
			t.Errorf("after cancellation: got %v", got)
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", resp, err)
	}
}

func TestCancellationCauseReachesTheCaller(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err := doGet(t, ctx, newClient(func(w http.ResponseWriter, req *http.Request) {
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel(cause)
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// Upstream's handlers call the server in turn, with the context of the request that
// they handle. Its logging panics where it finds a log entry in the context.
func TestNestedRequestWithLogging(t *testing.T) {
	setVerbosity(t, "3")
	var handler http.Handler
	handler = httplog.WithLogging(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Has("nested") {
			return
		}
		nested := &http.Client{Transport: Transport{Handler: handler, User: alice}}
		req, err := http.NewRequestWithContext(req.Context(), http.MethodGet, URL+"/path?nested", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := nested.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	}), httplog.DefaultStacktracePred)
	resp, err := doGet(t, t.Context(), newClient(handler.ServeHTTP))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// setVerbosity sets the verbosity of klog until the test ends.
func setVerbosity(t *testing.T, level string) {
	t.Helper()
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	v := flags.Lookup("v").Value
	before := v.String()
	if err := v.Set(level); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Set(before); err != nil {
			t.Error(err)
		}
	})
}
