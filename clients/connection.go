package clients

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// connections are those over HTTP/2 on which watches are open, or have ended within maxReaction. All user agents of a process
// share its connection: it may watch with one, and write with others.
type connections struct {
	mu    sync.Mutex // for changes
	byKey sync.Map   // connectionKey → *connection
}

// connectionKey identifies a connection of a process. Other users may send requests over it, too.
type connectionKey struct{ addr, user string }

// connection is one over which clients of a user have watched.
type connection struct {
	key      connectionKey
	watchers atomic.Pointer[[]*client] // those clients, which are kept as long as others have used the connection

	mu           sync.Mutex
	open         int       // watches
	kept         int       // watches that are open, or have ended within maxReaction; under the lock of connections
	began, ended time.Time // when the first watch began, and when the last one ended
}

// connectionKey returns the key of the connection of a request. ok is false if it is not known to be that of the process: a
// proxy may have sent the request. kubectl has no other user agents.
func (r *request) connectionKey() (key connectionKey, ok bool) {
	ok = r.req.ProtoMajor >= 2 && r.req.Header.Get("X-Forwarded-For") == "" && r.client.program() != "kubectl"
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
	found, _ := c.byKey.LoadOrStore(key, &connection{key: key, began: r.watch.Since})
	conn := found.(*connection)
	conn.kept++
	conn.addWatch(r.client)
	r.setConnection(conn)
}

// removeWatch is called when the watch of a request has ended.
func (c *connections) removeWatch(r *request) {
	conn := r.conn
	if conn == nil {
		return
	}
	conn.removeWatch(time.Now())
	time.AfterFunc(maxReaction, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if conn.kept--; conn.kept == 0 {
			c.byKey.Delete(conn.key)
		}
	})
}

func (c *connection) addWatch(cl *client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	if watchers := c.allWatchers(); !slices.Contains(watchers, cl) {
		watchers = append(slices.Clone(watchers), cl)
		c.watchers.Store(&watchers)
	}
}

func (c *connection) removeWatch(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.ended = now
}

// allWatchers returns the clients that have watched over the connection.
func (c *connection) allWatchers() []*client {
	if c == nil {
		return nil
	}
	if list := c.watchers.Load(); list != nil {
		return *list
	}
	return nil
}

// watched returns when the first watch over the connection was opened or, if none is open, when the last one ended.
func (c *connection) watched() (began, ended time.Time) {
	if c == nil {
		return began, ended
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		return c.began, ended
	}
	return began, c.ended
}

func (c *connection) isWatched() bool {
	began, _ := c.watched()
	return !began.IsZero()
}

// watchesOfOthers returns the watches of other clients over the connection, also those that have just ended.
func (c *connection) watchesOfOthers(than *client) (list []*watch) {
	for _, cl := range c.allWatchers() {
		if cl == than {
			continue
		}
		cl.mu.Lock()
		list = append(list, onConn(slices.Concat(cl.watches, cl.ended), c.key.addr)...)
		cl.mu.Unlock()
	}
	return list
}

// maxSharing is how many clients of a connection are named.
const maxSharing = 32

// shareConnections returns the names of the other clients with which each client shares a connection.
func shareConnections(clients []*client) map[*client][]string {
	byConn := map[*connection][]*client{}
	for _, cl := range clients {
		conn := cl.conn.Load()
		if conn == nil {
			continue
		}
		if byConn[conn] == nil {
			watchers := conn.allWatchers()
			byConn[conn] = slices.Clone(watchers[:min(len(watchers), maxSharing)])
		}
		if members := byConn[conn]; len(members) < maxSharing && !slices.Contains(members, cl) {
			byConn[conn] = append(members, cl)
		}
	}
	names := map[*client][]string{}
	for _, members := range byConn {
		for _, cl := range members {
			for _, other := range members {
				if other != cl {
					names[cl] = append(names[cl], other.name)
				}
			}
		}
	}
	for cl, list := range names {
		slices.Sort(list)
		names[cl] = slices.Compact(list)
	}
	return names
}
