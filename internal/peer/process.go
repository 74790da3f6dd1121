package peer

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Process identifies a process that sends requests, among those that run. It may be looked up still. nil is one that is not known.
type Process struct {
	done    chan struct{} // closed once the look-up has ended
	id      string
	conn    string   // stands for it while the id is not known: its connection over HTTP/2, of which most have one; else ""
	isFinal bool     // another look-up finds nothing else
	lookups *lookups // that it is among; nil if it is not looked up in the background
}

// Known returns a process with an id.
func Known(id string) *Process {
	p := NewProcess()
	p.Finish(id)
	return p
}

// NewProcess returns a process whose id is not known until Finish is called.
func NewProcess() *Process { return &Process{done: make(chan struct{})} }

// Finish ends the look-up. It must be called once.
func (p *Process) Finish(id string) {
	p.id = id
	close(p.done)
}

// ID returns the id of the process; if that is not known, at least until now, what stands for its connection over HTTP/2, or "".
func (p *Process) ID() string {
	switch {
	case p == nil:
		return ""
	case p.isKnown():
		return p.id
	}
	return p.conn
}

// MayBe reports whether two processes are the same, or one of them is not known.
func (p *Process) MayBe(other *Process) bool {
	return !p.isKnown() || !other.isKnown() || p.id == other.id
}

func (p *Process) isKnown() bool { return p.isDone() && p.id != "" }

func (p *Process) isDone() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Await waits until the look-up has ended, for at most a time, or until ctx is done, and returns for how long. A process may close
// its connection once it is answered, and cannot be found then. It does not wait if others are looked up, too: that takes long.
func (p *Process) Await(ctx context.Context, atMost time.Duration) time.Duration {
	if p == nil || p.isDone() || p.lookups.areSeveral() {
		return 0
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return time.Since(began)
}

// WhenDone calls f once the look-up has ended: at once, or from another goroutine.
func (p *Process) WhenDone(f func()) {
	if p == nil || p.isDone() {
		f()
		return
	}
	go func() {
		<-p.done
		f()
	}()
}

// Find returns the process that has sent a request, and looks it up in the background if that was not done for the
// connection. nil if Program cannot know it, or too many are looked up. Over HTTP/2 that is done once, so that all requests over a
// connection have the same process.
func Find(req *http.Request) *Process {
	local := addressOf(req)
	if local == nil {
		return nil
	}
	last := local.last.Load()
	if last != nil && (!last.isDone() || last.isFinal) {
		return last
	}
	p := NewProcess()
	if req.ProtoMajor >= 2 {
		p.conn = req.RemoteAddr
	}
	if local.mu.TryLock() { // no look-up is under way: Program may have made it
		found, isFinal := local.found, local.attempts == maxAttempts
		local.mu.Unlock()
		if isFinal {
			p.finish(found, true)
			local.last.Store(p)
			return p
		}
	}
	p.lookups = local.lookups
	if !p.lookups.add() {
		if p.conn == "" {
			return last
		}
		p.finish(process{}, true)
		local.last.CompareAndSwap(last, p)
		return local.last.Load()
	}
	if !local.last.CompareAndSwap(last, p) { // another request looks it up
		local.lookups.remove()
		return local.last.Load()
	}
	go func() {
		found, isFinal := local.lookups.run(local.process)
		p.finish(found, isFinal || p.conn != "")
	}()
	return p
}

func (p *Process) finish(found process, isFinal bool) {
	p.isFinal = isFinal
	id := ""
	if found.id != 0 {
		id = strconv.Itoa(found.id)
	}
	p.Finish(id)
}

// maxLookups is how many processes are looked up in the background, or wait for that. What has closed its connection
// meanwhile does not take long.
const maxLookups = 256

// lookups are those in the background: one at a time, as it may look at all processes of the machine.
type lookups struct {
	n   atomic.Int64
	one chan struct{} // has an element while one runs
}

func newLookups() *lookups { return &lookups{one: make(chan struct{}, 1)} }

// add reports whether there is room for another one.
func (l *lookups) add() bool {
	if l.n.Add(1) <= maxLookups {
		return true
	}
	l.n.Add(-1)
	return false
}

// areSeveral reports whether more than one runs or waits.
func (l *lookups) areSeveral() bool { return l != nil && l.n.Load() > 1 }

func (l *lookups) remove() { l.n.Add(-1) }

// run makes one that was added once none is running, and removes it: it does not count any more when its answer is known.
func (l *lookups) run(find func() (process, bool)) (process, bool) {
	defer l.remove()
	l.one <- struct{}{}
	defer func() { <-l.one }()
	return find()
}
