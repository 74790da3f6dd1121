package rest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// TestInterruptedRequestIsNotLogged ends a request while its response is read, as Ctrl-C does: the
// error is the caller's, and a line of client-go on stderr would be one too many.
func TestInterruptedRequestIsNotLogged(t *testing.T) {
	before := klog.CaptureState()
	defer before.Restore()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("logtostderr", "false"); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	klog.SetOutput(&log)

	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
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
	client, err := NewClient(&rest.Config{Host: server.URL, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return cancelOnResponse{next, cancel}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	klog.Flush()
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}

// cancelOnResponse calls cancel when a response has begun.
type cancelOnResponse struct {
	next   http.RoundTripper
	cancel func()
}

func (c cancelOnResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	defer c.cancel()
	return c.next.RoundTrip(req)
}
