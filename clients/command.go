package clients

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/peer"
)

// A command, such as Helm, writes, waits with a watch for what follows, ends the watch, and goes on: what it writes then is what
// its user has asked for. An operator watches before it writes, and may complete its work when it stops, after its last watch.

// keptCommands is how many processes are kept of a client that have written before they watched.
const keptCommands = 16

// sender is what sends a request: a process, or if that is not known, a connection.
type sender struct {
	conn    string
	process *peer.Process
}

func (s sender) is(other sender) bool {
	id, otherID := s.process.ID(), other.process.ID()
	if s.conn == other.conn {
		// The connection stands for a process that was not looked up, as before the client has listed or watched anything.
		return s.process.MayBe(other.process) || id == s.conn || otherID == s.conn
	}
	return id != "" && id == otherID
}

// noteWroteFirst notes whether a process has written something before it has watched.
func (cl *client) noteWroteFirst(r *request) {
	if !r.call.IsWrite() || r.call.IsRoutine() || r.conn != nil {
		return
	}
	from := sender{r.req.RemoteAddr, r.process}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	mayWatch := func(w *watch) bool { return w.process.MayBe(from.process) }
	if slices.ContainsFunc(cl.watches, mayWatch) || slices.ContainsFunc(cl.ended, mayWatch) || slices.ContainsFunc(cl.wroteFirst, from.is) {
		return
	}
	if len(cl.wroteFirst) == keptCommands {
		cl.wroteFirst = slices.Delete(cl.wroteFirst, 0, 1)
	}
	cl.wroteFirst = append(cl.wroteFirst, from)
}

// watchesFor returns the watches whose events a write may follow, also such that have ended, but none that a command has ended
// itself to go on without one, nor those of another user for whom the process acts. The caller holds the lock.
func (cl *client) watchesFor(wr *write) (list []*watch) {
	isOpen := func(w *watch) bool { return w.gone() == nil && w.process.ID() == wr.process.ID() }
	goesOn := slices.ContainsFunc(cl.wroteFirst, sender{wr.conn, wr.process}.is) && !slices.ContainsFunc(cl.watches, isOpen)
	for _, w := range slices.Concat(cl.watches, cl.ended) {
		if w.isFollowedBy(wr) && !(goesOn && w.wasClosed(wr.began)) && (wr.forUser == "" || w.forUser == wr.forUser) {
			list = append(list, w)
		}
	}
	return list
}

// wasClosed reports whether the client had ended the watch before a time: the server ends it otherwise, or the process has ended
// meanwhile. The caller holds the lock of the client.
func (w *watch) wasClosed(before time.Time) bool {
	if w.ended.IsZero() { // its handler has not returned
		return w.gone() != nil
	}
	return w.closed && w.ended.Before(before)
}
