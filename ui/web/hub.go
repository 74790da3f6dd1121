package web

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui"
)

// The limits of what is kept for all pages together, and of what a new page receives of it.
const (
	keptBytes    = 4 << 20
	newPageBytes = 256 << 10
	chunkBytes   = 32 << 10 // of lines that are sent together
	backlog      = 400      // records before the first page was opened
)

// hub follows a source while pages are open, and keeps the newest lines for them. It holds
// no state of a page, so any number of pages, and any speed of theirs, costs it the same.
type hub struct {
	source   observe.Source
	player   *replay.Player // that is the source; nil = another one is
	lookedAt time.Time      // for hot loops; of follow
	wake     chan struct{}  // has an element if the source has to be followed, or followed again

	mu       sync.Mutex
	changed  chan struct{} // is closed and replaced on each change
	pages    int
	stop     context.CancelFunc // ends the current Follow; nil = none is running
	chunks   []chunk            // consecutive, oldest first
	first    uint64             // position of chunks[0]
	lines    uint64             // of all chunks so far
	size     int                // of all chunks, in bytes
	snapshot []byte             // the last line with a snapshot
	status   []byte             // the last status
	loops    []hotLoop          // those that were found last
	version  uint64             // of status
	run      uint64             // counts how often the source was followed: its lines do not continue those before
	playback uint64             // counts the changes of the playback
	stepped  bool               // the last one was a step
	jumping  bool               // until the source is followed from where the playback has jumped to
}

// chunk is some whole lines.
type chunk struct {
	data  []byte // without the last line break
	lines uint64
	begin uint64 // the number of lines before it
}

func newHub(src observe.Source, p *replay.Player) *hub {
	return &hub{source: src, player: p, wake: make(chan struct{}, 1), changed: make(chan struct{}), playback: 1}
}

// keepFollowing follows the source whenever pages are open, until ctx ends.
func (h *hub) keepFollowing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		h.follow(ctx)
	}
}

// follow follows the source until the last page is closed or ctx ends.
func (h *hub) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.mu.Lock()
	if h.pages == 0 {
		h.mu.Unlock()
		return
	}
	h.stop = cancel
	h.first += uint64(len(h.chunks)) // the lines of an earlier time are not continued
	h.chunks, h.size, h.snapshot, h.status = nil, 0, nil, nil
	h.run++
	h.jumping = false
	h.mu.Unlock()
	after := uint64(0) // all, if the source does not answer now
	if s, err := h.source.Snapshot(ctx); err == nil && s.Journal.Last > backlog {
		after = s.Journal.Last - backlog
	}
	// Follow fails only if its writer does, and h never does.
	_ = ui.Follow(ctx, h.source, after, lineWriter{ui.NewJSONWriter(h), h, &list{}})
}

// open counts a page. The result ends it.
func (h *hub) open() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages++
	if h.pages == 1 {
		h.follows()
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.pages--
		if h.pages == 0 && h.stop != nil {
			h.stop()
			h.stop = nil
		}
	})
}

// follows lets the source be followed. h.mu is held.
func (h *hub) follows() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// playbackChanged announces a change to all pages. If it jumps, what was read does not lead to what is
// shown now, and the source is followed again.
func (h *hub) playbackChanged(jumps, stepped bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.playback++
	h.stepped = stepped
	if jumps && h.stop != nil {
		h.jumping = true
		h.stop()
		h.stop = nil
		h.follows()
		return
	}
	h.announce()
}

// Write keeps whole lines.
func (h *hub) Write(lines []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var c chunk
	for line := range bytes.Lines(lines) {
		if c.lines > 0 && len(c.data)+len(line) > chunkBytes {
			h.keep(c)
			c = chunk{}
		}
		c.data, c.lines = append(c.data, line...), c.lines+1
	}
	h.keep(c)
	h.announce()
	return len(lines), nil
}

func (h *hub) keep(c chunk) {
	c.data = bytes.TrimSuffix(c.data, []byte("\n"))
	c.begin, h.lines = h.lines, h.lines+c.lines
	h.chunks = append(h.chunks, c)
	h.size += len(c.data)
	for h.size > keptBytes && len(h.chunks) > 1 {
		h.size -= len(h.chunks[0].data)
		h.chunks = h.chunks[1:]
		h.first++
	}
}

// keepSnapshot keeps the last snapshot for new pages.
func (h *hub) keepSnapshot(line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.snapshot = bytes.TrimSpace(line)
}

// announce tells all pages that something has changed. h.mu is held.
func (h *hub) announce() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// findLoops looks for hot loops beside what follows the source, unless it has done so a moment ago. In a recording it does not.
func (h *hub) findLoops(ctx context.Context, s observe.Snapshot) {
	switch since := s.Time.Sub(h.lookedAt); {
	case h.player != nil:
	case !ui.IsRepeating(s):
		h.setLoops(nil)
	case since < 0 || since >= ui.LoopInterval:
		h.lookedAt = s.Time
		go func() {
			ctx, cancel := context.WithTimeout(ctx, ui.LoopInterval)
			defer cancel()
			found, err := assert.FindLoops(ctx, h.source, s.Time)
			if err != nil {
				found = nil // Follow reports a source that fails
			}
			h.setLoops(found)
		}()
	}
}

func (h *hub) setLoops(found []assert.HotLoop) {
	var loops []hotLoop
	for _, l := range found {
		loops = append(loops, hotLoop{words.OneLine(l.Controller), ui.LoopedWork(l)})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loops = loops
}

// setStatus keeps what the page says about a snapshot.
func (h *hub) setStatus(s observe.Snapshot) {
	m := newStatusMessage(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	m.Loops = h.loops
	data, err := json.Marshal(m)
	if err != nil {
		return // the snapshot was JSON, or is one that the status verb could not print either
	}
	if !bytes.Equal(h.status, data) {
		h.status, h.version = data, h.version+1
		h.announce()
	}
}

// refresh reads the status again, for example after an intervention.
func (h *hub) refresh(ctx context.Context) {
	if s, err := h.source.Snapshot(ctx); err == nil { // Follow reports a source that fails
		h.setStatus(s)
	}
}

// position is how far a page has read.
type position struct {
	begun    bool
	live     bool // has read what was there before it
	run      uint64
	next     uint64 // of chunks
	lines    uint64 // the number of lines before that chunk
	version  uint64 // of the status
	playback uint64
}

// update is what a page has not read yet.
type update struct {
	jumped   bool     // what was read before is not continued
	lines    [][]byte // each is one or more lines
	status   []byte   // nil = unchanged
	playback []byte   // nil = unchanged
	missed   uint64   // lines that were dropped before they were read
	live     bool     // what follows happens from now on
}

// read returns what a page has not read, at most about newPageBytes of it, and a channel
// that is closed when there may be more.
func (h *hub) read(p *position) (update, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var u update
	if h.jumping { // what is kept is of the time before
		return u, h.changed
	}
	end := h.first + uint64(len(h.chunks))
	if p.run != h.run {
		u.jumped = p.begun
		*p = position{run: h.run}
	}
	if !p.begun {
		p.begun, p.next = true, h.startOfNewPage()
		p.lines = h.linesBefore(p.next)
		if h.snapshot != nil {
			u.lines = append(u.lines, h.snapshot)
		}
	}
	if p.next < h.first {
		u.missed, p.next = h.linesBefore(h.first)-p.lines, h.first
	}
	for size := 0; p.next < end && size < newPageBytes; p.next++ {
		c := h.chunks[p.next-h.first]
		u.lines, size = append(u.lines, c.data), size+len(c.data)
	}
	p.lines = h.linesBefore(p.next)
	if !p.live && p.next == end && len(h.chunks) > 0 { // the first poll has all that was there
		p.live, u.live = true, true
	}
	if p.version != h.version {
		p.version, u.status = h.version, h.status
	}
	if h.player != nil && p.playback != h.playback {
		p.playback = h.playback
		u.playback = h.playbackMessage()
	}
	var wait <-chan struct{} = h.changed
	if p.next < end {
		wait = closedChannel
	}
	return u, wait
}

// playbackMessage is nil if it cannot be expressed as JSON, which it can.
func (h *hub) playbackMessage() []byte {
	data, err := playbackOf(h.player, h.stepped)
	if err != nil {
		return nil
	}
	return data
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// startOfNewPage is the position of the oldest chunk that a new page receives.
func (h *hub) startOfNewPage() uint64 {
	i, size := len(h.chunks), 0
	for i > 0 && size+len(h.chunks[i-1].data) <= newPageBytes {
		i--
		size += len(h.chunks[i].data)
	}
	return h.first + uint64(i)
}

// linesBefore is the number of lines before a chunk that is kept or comes next.
func (h *hub) linesBefore(at uint64) uint64 {
	if i := at - h.first; i < uint64(len(h.chunks)) {
		return h.chunks[i].begin
	}
	return h.lines
}
