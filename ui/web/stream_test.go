package web

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// TestStreamSaysWhatIsHistory has records from before a page, also from before a second one.
func TestStreamSaysWhatIsHistory(t *testing.T) {
	src := &fakeSource{}
	message := func(text string) { src.add(&observe.Logged{Controller: "c", Level: 8, Message: text}) }
	message("before")
	s := startServer(t, Options{Source: src})
	open := func() *stream {
		v := newVisitor(t, s)
		v.open(s.OnceLink())
		return v.stream()
	}
	first := open()
	first.next("before")
	first.nextEvent("live")
	message("between")
	first.next("between")
	second := open()
	second.next("before")
	second.next("between")
	second.nextEvent("live")
}

func TestStreamHasTheLinesOfTop(t *testing.T) {
	src := &fakeSource{}
	hostile := "<img src=x onerror=alert(1)>\n\ndata: {}"
	src.add(&observe.Called{Controller: "kubectl", Verb: "create", Object: observe.Object{Resource: "pods", Name: "before"}, Status: 201})
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	st := v.stream()
	if line := st.next(`"kind":"called"`); !strings.Contains(line, "before") {
		t.Errorf("the first record is not the one before the page was opened: %s", line)
	}
	st.next(`"kind":"snapshot"`)
	src.add(&observe.Logged{Controller: "deployment-controller", Level: 8, Message: hostile})
	var got observe.Record
	testutil.DecodeJSON(t, st.next(`"kind":"logged"`), &got)
	if e := got.Event.(*observe.Logged); e.Message != hostile {
		t.Errorf("message %q, want %q", e.Message, hostile)
	}
}

func TestSourceIsPolledForAllPagesAndNotForNone(t *testing.T) {
	src := &fakeSource{}
	s := startServer(t, Options{Source: src})
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	src.mu.Lock()
	before := src.snapshots
	src.mu.Unlock()
	if before != 0 {
		t.Errorf("%d snapshots before a page was opened", before)
	}
	began := time.Now()
	var all []*stream
	for range 20 {
		st := v.stream()
		st.next("controllers")
		all = append(all, st)
	}
	src.mu.Lock()
	during := src.snapshots
	src.mu.Unlock()
	// The hub and ui.Follow begin with one each, and ui.Follow reads another each second.
	if elapsed := time.Since(began); during > 2+int(elapsed/time.Second) {
		t.Errorf("%d snapshots for 20 pages in %v", during, elapsed)
	}
	for _, st := range all {
		st.body.Close()
	}
	testutil.Await(t, "the end of Follow", func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return s.hub.pages == 0 && s.hub.stop == nil
	})
}

func TestSlowPageMissesLinesAndIsToldSo(t *testing.T) {
	h := newHub(&fakeSource{}, nil)
	var slow position
	h.read(&slow)
	line := []byte(`{"kind":"logged","message":"` + strings.Repeat("x", 1000) + `"}` + "\n")
	written := 0
	for size := 0; size < 3*keptBytes; size += 10 * len(line) {
		if _, err := h.Write(bytes.Repeat(line, 10)); err != nil {
			t.Fatal(err)
		}
		written += 10
	}
	if h.size > keptBytes {
		t.Errorf("%d bytes are kept", h.size)
	}
	read, missed := 0, uint64(0)
	for {
		u, changed := h.read(&slow)
		missed += u.missed
		for _, l := range u.lines {
			read += bytes.Count(l, []byte("\n")) + 1
		}
		if changed != closedChannel {
			break
		}
	}
	if missed == 0 || uint64(read)+missed != uint64(written) {
		t.Errorf("%d lines read and %d missed, want %d in all", read, missed, written)
	}
	var fresh position
	u, _ := h.read(&fresh)
	size := 0
	for _, l := range u.lines {
		size += len(l)
	}
	if u.missed != 0 || size == 0 || size > newPageBytes+chunkBytes {
		t.Errorf("a new page receives %d bytes, and %d lines as missed", size, u.missed)
	}
}

// TestPageThatReadsNothing opens a stream, reads nothing of it while much is written, and
// closes the server, which has to end at once.
func TestPageThatReadsNothing(t *testing.T) {
	src := &fakeSource{}
	s, err := Start(Options{Source: src})
	if err != nil {
		t.Fatal(err)
	}
	s.writeTimeout = 24 * time.Hour // Close does not wait for it
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	stuck, quick := v.stream(), v.stream()
	quick.next("controllers")
	big := strings.Repeat("x", 100<<10)
	for i := range 200 { // 20 MB: more than the buffers of a connection
		src.add(&observe.Logged{Controller: "c", Level: 8, Message: fmt.Sprint(i, " ", big)})
	}
	src.add(&observe.Logged{Controller: "c", Level: 8, Message: "last"})
	quick.next(`"last"`)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	stuck.body.Close()
}

// TestNewPageAfterTheNextPoll has a writer that reuses its buffer, as ui.Follow does: a new page receives the
// snapshot as it was written.
func TestNewPageAfterTheNextPoll(t *testing.T) {
	h := newHub(&fakeSource{}, nil)
	buffer := []byte(`{"kind":"snapshot","process":{}}` + "\n")
	if _, err := h.Write(buffer); err != nil {
		t.Fatal(err)
	}
	copy(buffer, `{"kind":"logged","message":"later`)
	u, _ := h.read(&position{})
	for _, line := range u.lines {
		if string(line) != `{"kind":"snapshot","process":{}}` {
			t.Errorf("line %s", line)
		}
	}
}
