package clients

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// connections are those over HTTP/2 on which watches are open, or have ended within maxReaction. All user agents of a process
// share its connection: it may watch with one, and write with others. So may programs in one process that have nothing to do
// with each other, as a test and an operator in it: see isSameProgram.
type connections struct {
	mu    sync.Mutex // for changes
	byKey sync.Map   // connectionKey → *connection
}

// connectionKey identifies a connection of a process. Other users may send requests over it, too.
type connectionKey struct{ addr, user string }

// maxWatchers is how many clients are kept of a connection, beside those with open watches. maxSharing is how many are named.
const maxWatchers, maxSharing = 64, 31

// connection is one over which clients of a user have watched.
type connection struct {
	key      connectionKey
	mu       sync.Mutex
	watchers []watcher // with open watches or such that have ended within maxReaction, and the last ones
}

// watcher is a client that has watched over a connection.
type watcher struct {
	client       *client
	open         int       // watches
	began, ended time.Time // when the first watch began, and when the last one ended
}

// isSameProgram reports whether two clients of a connection look like user agents of one program, such as cert-manager and
// cert-manager-certificates-issuing. A test of it, such as cert-manager-e2e.test, is another one.
func isSameProgram(a, b *client) bool {
	short, long := a.program(), b.program()
	if len(short) > len(long) {
		short, long = long, short
	}
	rest, ok := strings.CutPrefix(long, short)
	return ok && strings.HasPrefix(rest, "-") && !strings.HasSuffix(rest, ".test")
}

// isSameOperator reports whether two clients of a connection are not a test and the operator in its process. An operator with
// a user agent of its own has another one in leader election: causes need isSameProgram.
func isSameOperator(a, b *client) bool {
	return isSameProgram(a, b) || isTest(a) == isTest(b)
}

func isTest(cl *client) bool { return strings.HasSuffix(cl.program(), ".test") }

// connectionKey returns the key of the connection of a request. ok is false if it is not known to be that of the process: a
// proxy may have sent the request. ctrlplanetest has no other user agents.
func (r *request) connectionKey() (key connectionKey, ok bool) {
	ok = r.req.ProtoMajor >= 2 && r.req.Header.Get("X-Forwarded-For") == "" && r.client.program() != "ctrlplanetest"
	return connectionKey{r.req.RemoteAddr, r.call.Client.User}, ok
}

// find finds the connection of a request, if clients watch over it.
func (c *connections) find(r *request) {
	r.conns = c
	key, ok := r.connectionKey()
	if !ok {
		return
	}
	if found, ok := c.byKey.Load(key); ok {
		r.setConnection(found.(*connection))
	}
}

func (r *request) setConnection(conn *connection) {
	if r.conn = conn; r.client.conn.Load() != conn {
		r.client.conn.Store(conn)
	}
}

// addWatch is called when the watch of a request is opened.
func (c *connections) addWatch(r *request) {
	key, ok := r.connectionKey()
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, _ := c.byKey.LoadOrStore(key, &connection{key: key})
	conn := found.(*connection)
	conn.addWatch(r.client, r.watch.Since)
	r.setConnection(conn)
}

// removeWatch is called when the watch of a request has ended.
func (c *connections) removeWatch(r *request) {
	conn := r.conn
	if conn == nil {
		return
	}
	conn.removeWatch(r.client, time.Now())
	time.AfterFunc(maxReaction, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if conn.forgetWatchers(time.Now()) {
			c.byKey.CompareAndDelete(conn.key, conn)
		}
	})
}

func (c *connection) addWatch(cl *client, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.indexOf(cl); i >= 0 {
		c.watchers[i].open++
	} else {
		c.watchers = append(c.watchers, watcher{client: cl, open: 1, began: now})
	}
	c.leaveOutOld(now)
	if i := slices.IndexFunc(c.watchers, func(w watcher) bool { return w.open == 0 }); i >= 0 && len(c.watchers) > maxWatchers {
		c.watchers = slices.Delete(c.watchers, i, i+1)
	}
}

func (c *connection) removeWatch(cl *client, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.indexOf(cl); i >= 0 {
		c.watchers[i].open--
		c.watchers[i].ended = now
	}
}

// indexOf returns the index of a client among the watchers, or -1. The caller holds the lock.
func (c *connection) indexOf(cl *client) int {
	return slices.IndexFunc(c.watchers, func(w watcher) bool { return w.client == cl })
}

// isOld reports whether nothing can follow from what a client has watched over the connection.
func (w watcher) isOld(now time.Time) bool { return w.open == 0 && now.Sub(w.ended) >= maxReaction }

// leaveOutOld forgets the clients that have not watched for long. The caller holds the lock.
func (c *connection) leaveOutOld(now time.Time) {
	c.watchers = slices.DeleteFunc(c.watchers, func(w watcher) bool { return w.isOld(now) })
}

// forgetWatchers forgets the clients that have not watched for long, or reports that they are all: then the process has
// ended, and they still tell which clients it had.
func (c *connection) forgetWatchers(now time.Time) (areAll bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.watchers, func(w watcher) bool { return w.open > 0 }) {
		c.leaveOutOld(now)
		return false
	}
	return !slices.ContainsFunc(c.watchers, func(w watcher) bool { return !w.isOld(now) })
}

// watchersOf returns what the program of a client has watched over the connection. c may be nil.
func (c *connection) watchersOf(cl *client) (list []watcher) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watchers {
		if w.client == cl || isSameProgram(w.client, cl) {
			list = append(list, w)
		}
	}
	return list
}

// watched returns when the program of a client opened its first watch over the connection or, if none is open, when the
// last one ended. c may be nil.
func (c *connection) watched(by *client) (began, ended time.Time) {
	isOpen := false
	for _, w := range c.watchersOf(by) {
		isOpen = isOpen || w.open > 0
		if began.IsZero() || w.began.Before(began) {
			began = w.began
		}
		ended = later(ended, w.ended)
	}
	if isOpen {
		return began, time.Time{}
	}
	return time.Time{}, ended
}

func (c *connection) isWatched(by *client) bool {
	began, _ := c.watched(by)
	return !began.IsZero()
}

// watchesOfOthers returns the watches of other clients of the same program over the connection whose events a write may follow.
func (c *connection) watchesOfOthers(than *client, wr *write) (list []*watch) {
	for _, w := range c.watchersOf(than) {
		if cl := w.client; cl != than {
			cl.mu.Lock()
			list = append(list, onConn(cl.watchesFor(wr), c.key.addr)...)
			cl.mu.Unlock()
		}
	}
	return list
}

// shareConnections returns the names of the other clients of its process with which each client shares a connection.
func shareConnections(clients []*client) map[*client][]string {
	byConn := map[*connection][]*client{}
	for _, cl := range clients {
		if conn := cl.conn.Load(); conn != nil {
			byConn[conn] = append(byConn[conn], cl)
		}
	}
	names := map[*client][]string{}
	for conn, users := range byConn {
		members := conn.withWatchers(users, clients)
		for _, cl := range members {
			for _, other := range members {
				if other != cl && isSameOperator(cl, other) {
					names[cl] = append(names[cl], other.name)
				}
			}
		}
	}
	for cl, list := range names {
		slices.Sort(list)
		list = slices.Compact(list)
		names[cl] = list[:min(len(list), maxSharing)]
	}
	return names
}

// withWatchers adds the clients that have watched over the connection to its users: their last request may have been over
// another one. A client that is not among all is forgotten.
func (c *connection) withWatchers(users, all []*client) []*client {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watchers {
		if slices.Contains(all, w.client) && !slices.Contains(users, w.client) {
			users = append(users, w.client)
		}
	}
	return users
}
