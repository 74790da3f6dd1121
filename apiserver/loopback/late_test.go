package loopback

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
)

func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := NewLate()
		answered := make(chan string)
		go func() {
			resp, err := get(t, t.Context(), client(late.ServeHTTP))
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
		for _, says := range []string{"first", "second"} {
			late.Is(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, says) }))
		}
		if got := <-answered; got != "first" {
			t.Errorf("got %q", got)
		}
	})
}

func TestLateNever(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := get(t, ctx, client(NewLate().ServeHTTP)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
