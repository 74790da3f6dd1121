package clients

import (
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
)

// otherUsersOf returns the clients with watches that are the same program as one without, with other users: a process may watch
// with one identity, and write with another one. A test and the operator in its process do not belong together.
func (c *Clients) otherUsersOf(r *request) (list []*client) {
	cl := r.client
	program, isProxied := cl.program(), r.req.Header.Get("X-Forwarded-For") != ""
	if isProxied || program == "kubectl" || program == "ctrlplanetest" || isTest(cl) || cl.hasWatched() {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, other := range c.byName {
		if other != cl && other.program() == program && other.hasWatched() {
			list = append(list, other)
		}
	}
	return list
}

// watchesAs returns the client as which the process of a write watches: most often its own.
func (r *request) watchesAs() *client {
	id := r.process.ID()
	for _, cl := range r.otherUsers {
		if id != "" && cl.isWatchedBy(id) {
			return cl
		}
	}
	return r.client
}

// setLikelyCause adds what has likely caused a write.
func (r *request) setLikelyCause(answer recording.ResponseSummary) {
	cl := r.watchesAs()
	cause, last := cl.likelyCause(r, answer)
	if cl != r.client && last != nil && last.Change != "" {
		last.Client = cmp.Or(last.Client, cl.name)
	}
	r.call.Cause, r.call.Unexplained = cause, last
}

// isWatchedBy reports whether a process has watches of the client, or had one within maxReaction.
func (cl *client) isWatchedBy(processID string) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	is := func(w *watch) bool { return w.process.ID() == processID }
	return slices.ContainsFunc(cl.watches, is) || slices.ContainsFunc(cl.ended, is)
}
