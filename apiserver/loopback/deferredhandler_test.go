package loopback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
)

func TestDeferredHandlerAnswersOnceSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := NewDeferredHandler()
		answered := make(chan string)
		go func() {
			resp, err := doGet(t, t.Context(), newClient(handler.ServeHTTP))
			if err != nil {
				t.Error(err)
				close(answered)
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			answered <- string(body)
		}()
		synctest.Wait()
		for _, answer := range []string{"first", "second"} {
			handler.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
		}
		if got := <-answered; got != "first" {
			t.Errorf("got %q", got)
		}
	})
}

func TestDeferredHandlerRespectsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doGet(t, ctx, newClient(NewDeferredHandler().ServeHTTP)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
