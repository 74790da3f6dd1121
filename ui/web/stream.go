package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/ctrlplane/ctrlplane/ui"
)

const (
	// maxStreams bounds the pages that are open at the same time.
	maxStreams = 128
	// heartbeat is how often a connection is used, so that one whose other end is gone
	// ends.
	heartbeat = 15 * time.Second
)

// serveStream sends the lines of "top --ui json" as server-sent events: one event has one
// or more lines. An event of type "status" has what the lines do not have.
func (s *Server) serveStream(w http.ResponseWriter, req *http.Request) {
	release, ok := s.limits.take(streamUsage.limits(visitOf(req).id, req.RemoteAddr)...)
	if !ok {
		writeError(w, http.StatusTooManyRequests, errors.New("too many pages are open here: close some"))
		return
	}
	defer release()
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		writeError(w, http.StatusServiceUnavailable, errors.New("too many pages are open: close some"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &eventStream{w: w, control: http.NewResponseController(w)}
	defer s.hub.open()()
	var at position
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		u, changed := s.hub.read(&at)
		if err := out.send(u); err != nil {
			return // the page was closed, or reads nothing
		}
		select {
		case <-req.Context().Done():
			return
		case <-changed:
		case <-beat.C:
			if err := out.comment(); err != nil {
				return
			}
		}
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
	buffer  bytes.Buffer
}

func (e *eventStream) send(u update) error {
	if !e.begun { // a browser reconnects after 3 s by default
		e.begun = true
		e.buffer.WriteString("retry: 1000\n\n")
	}
	if u.jumped {
		e.event("jumped", []byte("{}"))
	}
	if u.playback != nil {
		e.event("playback", u.playback)
	}
	if u.missed > 0 {
		notice, err := json.Marshal(ui.Notice{Kind: "missed", Time: time.Now(), Missed: u.missed})
		if err != nil {
			return err
		}
		e.event("", notice)
	}
	if u.status != nil {
		e.event("status", u.status)
	}
	for _, lines := range u.lines {
		e.event("", lines)
	}
	if u.live {
		e.event("live", []byte("{}"))
	}
	return e.flush()
}

// event appends an event with one or more lines of data.
func (e *eventStream) event(name string, data []byte) {
	if name != "" {
		e.buffer.WriteString("event: " + name + "\n")
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		e.buffer.WriteString("data: ")
		e.buffer.Write(line)
		e.buffer.WriteByte('\n')
	}
	e.buffer.WriteByte('\n')
}

func (e *eventStream) comment() error {
	e.buffer.WriteString(":\n\n")
	return e.flush()
}

func (e *eventStream) flush() error {
	if e.buffer.Len() == 0 {
		return nil
	}
	if _, err := e.buffer.WriteTo(e.w); err != nil {
		return err
	}
	return e.control.Flush()
}
