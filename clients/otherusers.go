package clients

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// otherUsersOf returns the clients with watches that are the same program as one without, with other users: a process may watch
// with one identity, and write as a ServiceAccount with another one. As a person, it does what that one asks for. A test and the
// operator in its process do not belong together.
func (c *Clients) otherUsersOf(r *request) (list []*client) {
	cl := r.client
	program, isProxied := cl.program(), r.req.Header.Get("X-Forwarded-For") != ""
	if !isServiceAccount(r.call.Client.User) || isProxied || program == "kubectl" || program == "ctrlplanetest" || isTest(cl) || cl.hasWatched() {
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

func isServiceAccount(user string) bool {
	return strings.HasPrefix(user, serviceaccount.ServiceAccountUsernamePrefix)
}

// forUser returns the person as whom a process acts by impersonation: what it watches as itself is not the reason.
func forUser(c *observe.Called) string {
	if as := c.Client.Impersonates; !isServiceAccount(as) {
		return as
	}
	return ""
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
