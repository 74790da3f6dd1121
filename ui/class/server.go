package class

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// progressPath is where messages are posted.
const progressPath = "/progress"

// serverTimeout bounds each phase of a request: a message is small.
const serverTimeout = 5 * time.Second

// Serve takes messages on a listener until ctx ends. It answers nothing but whether a message was taken.
func Serve(ctx context.Context, l net.Listener, r *Roster) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+progressPath, func(w http.ResponseWriter, req *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMessage))
		if err != nil {
			http.Error(w, "the message is too long", http.StatusBadRequest)
			return
		}
		now := time.Now()
		m, err := parseMessage(data, now)
		if err != nil || req.Header.Get("Content-Type") != "application/json" { // pages of other sites cannot send that
			http.Error(w, errMessage.Error(), http.StatusBadRequest)
			return
		}
		m.Time = now
		r.apply(m)
		w.WriteHeader(http.StatusNoContent)
	})
	s := &http.Server{
		Handler: mux, ReadTimeout: serverTimeout, WriteTimeout: serverTimeout, IdleTimeout: serverTimeout, MaxHeaderBytes: 8 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // what students send must not reach the terminal
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
