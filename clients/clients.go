package clients

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// maxClients is the number of clients that are kept. The longest idle one makes room.
	maxClients = 256
	// otherClients is the name of those that find no room, because all others are in use.
	otherClients = "other clients"
	// unauthenticatedClients is the name of all that send requests without authentication: their
	// programs may have any names, and many of them.
	unauthenticatedClients = "unauthenticated clients"
)

// Config configures Clients.
type Config struct {
	// Observer receives the records; nil = nothing is recorded.
	Observer *observe.Observer
	// OwnPath is the path of ctrlplane's own API. Requests below it are not recorded, and
	// no intervention applies to them: they are how one is removed.
	OwnPath string
	// ReportsPath is the path, below OwnPath, of what clients report about their controllers.
	ReportsPath string
	// Objects reads objects for steps.
	Objects intervene.ObjectReader
	// Revision returns the last version in the storage; 0 = it is not known. May be nil.
	Revision func() int64
	// IsAggregated reports whether an aggregated API server answers requests with a path. May be nil.
	IsAggregated func(path string) bool
	// CheckResource returns an error for a resource, as control.Fault has it, that the API server
	// does not serve: a fault in it would never occur. nil = any is accepted.
	CheckResource func(resource string) error
}

// Clients are the clients of one API server. Its methods are safe for concurrent use.
type Clients struct {
	config    Config
	frames    *frames
	processOf func(*http.Request) *peer.Process // that sends a request

	receiving, decoding chan struct{} // have an element for each report that is received, or decoded

	mu          sync.RWMutex
	byID        map[identity]knownCaller
	byName      map[string]*client
	controllers map[string]*reportedController // by name

	kinds                 sync.Map // of custom resources, as RESOURCE.GROUP → knownKind: see completeKind
	connections           connections
	sessions, permissions atomic.Int64 // of all clients
	unauthenticated       rateLimit    // of the records of requests without authentication
}

// New returns an empty set.
func New(cfg Config) *Clients {
	return &Clients{
		config: cfg, frames: newFrames(), processOf: peer.Find, receiving: make(chan struct{}, maxBodiesAtOnce), decoding: make(chan struct{}, maxDecodedAtOnce),
		byID: map[identity]knownCaller{}, byName: map[string]*client{}, controllers: map[string]*reportedController{},
	}
}

// identity is what tells callers apart. Those of the same program and user have the same client.
type identity struct {
	userAgent, user, groups string
	peer                    string // the program that the process runs, if the user agent does not say it
}

// knownCaller is a caller that many records share, and its client.
type knownCaller struct {
	client *client
	caller *observe.Caller
}

// Handle records a request and passes it on to next, through the gate of its client. who
// is nil if the request is not authenticated.
func (c *Clients) Handle(w http.ResponseWriter, req *http.Request, who user.Info, next http.Handler) {
	if req.URL.Path == c.config.ReportsPath {
		c.handleReport(w, req, who)
		return
	}
	if path := req.URL.Path; path == c.config.OwnPath || strings.HasPrefix(path, c.config.OwnPath+"/") {
		next.ServeHTTP(w, req)
		return
	}
	cl, caller := c.clientOf(req, who)
	if c.config.Observer == nil {
		cl.gate.Handle(w, req, new(time.Duration), next)
		return
	}
	r := newRequest(c.config.Observer, c.frames, cl, req, caller)
	r.kinds = &c.kinds
	c.connections.find(r)
	if isUnauthenticated(caller.User) {
		r.limit = &c.unauthenticated
	}
	c.completeRequest(r)
	defer r.finish()
	if r.lasts || !r.call.IsWrite() {
		r.gate.Handle(r.wrap(w), r.req, &r.call.Held, next)
	} else {
		r.served = &observe.ServedCall{}
		if r.forcesConflicts() {
			r.served.ForceConflicts()
		}
		r.served.Serve(cl.name, func() { r.gate.Handle(r.wrap(w), r.req, &r.call.Held, next) })
	}
	r.returned = true
}

// completeRequest adds what is known of the process and of the storage.
func (c *Clients) completeRequest(r *request) {
	if r.call.IsWrite() && !isUnauthenticated(r.call.Client.User) {
		r.otherUsers = c.otherUsersOf(r)
	}
	isFound := isGenericAgent(r.req.UserAgent()) // for the name of the client
	switch {
	case isUnauthenticated(r.call.Client.User):
	case r.call.Verb == "list", r.watch != nil, r.call.IsWrite() && (isFound || len(r.otherUsers) > 0 || r.client.mayReact()):
		r.process = c.processOf(r.req)
	}
	if r.process == nil && r.req.ProtoMajor >= 2 {
		r.process = peer.Known(r.req.RemoteAddr) // a process has one connection, and seldom others
	}
	if r.watch != nil {
		r.watch.process = r.process
	}
	if is := c.config.IsAggregated; is != nil {
		r.call.Aggregated = is(r.req.URL.Path)
	}
	if r.watch != nil && r.watch.beginsWithExisting && !r.call.Aggregated && c.config.Revision != nil {
		r.watch.revision = uint64(max(c.config.Revision(), 0))
	}
}

// clientOf returns the client that sends a request, and its caller.
func (c *Clients) clientOf(req *http.Request, who user.Info) (*client, *observe.Caller) {
	id := identityOf(req, who)
	c.mu.RLock()
	known := c.byID[id]
	c.mu.RUnlock()
	if known.client == nil {
		known = c.addCaller(id, who)
	}
	known.client.noteCaller(known.caller)
	return known.client, known.caller
}

func identityOf(req *http.Request, who user.Info) identity {
	id := identity{userAgent: words.Cut(req.UserAgent(), maxText)} // it need not be authenticated
	if who == nil {
		return id
	}
	id.user, id.groups = who.GetName(), strings.Join(who.GetGroups(), "\n")
	if !isUnauthenticated(id.user) && isGenericAgent(id.userAgent) {
		id.peer = words.Cut(peer.Program(req), maxText)
	}
	return id
}

// addCaller returns a caller that is not known, and its client. It is known from then on if it is
// authenticated and has a client of its own: others may be many.
func (c *Clients) addCaller(id identity, who user.Info) knownCaller {
	name := clientName(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := knownCaller{c.clientNamed(name), newCaller(id, who)}
	if name == unauthenticatedClients || known.client.name != name {
		return known
	}
	if len(c.byID) >= 4*maxClients { // of other versions of the same programs
		clear(c.byID)
	}
	c.byID[id] = known
	return known
}

func newCaller(id identity, who user.Info) *observe.Caller {
	caller := &observe.Caller{User: id.user, UserAgent: cleanText(id.userAgent)}
	if who != nil {
		caller.Groups = slices.Clone(who.GetGroups())
	}
	return caller
}

// clientNamed returns the client with a name, which may be new, or otherClients if there are too
// many. The caller holds the lock.
func (c *Clients) clientNamed(name string) *client {
	if cl := c.byName[name]; cl != nil {
		return cl
	}
	if len(c.byName) >= maxClients && !c.evictIdle() {
		name = otherClients
		if cl := c.byName[name]; cl != nil {
			return cl
		}
	}
	cl := newClient(name, c.config.Objects, &c.permissions)
	c.byName[name] = cl
	return cl
}

// evictIdle forgets the client that has been idle for the longest time, unless all are in
// use. The caller holds the lock.
func (c *Clients) evictIdle() bool {
	var idlest *client
	for _, cl := range c.byName {
		if !cl.isInUse() && (idlest == nil || cl.lastSeen().Before(idlest.lastSeen())) {
			idlest = cl
		}
	}
	if idlest == nil {
		return false
	}
	delete(c.byName, idlest.name)
	c.forgetReports(idlest)
	idlest.permissions.forget()
	idlest.conn.Store(nil) // its watchers lead to other clients that are forgotten
	for id, known := range c.byID {
		if known.client == idlest {
			delete(c.byID, id)
		}
	}
	return true
}

// NameOf returns the name of the only client of a program, or else the program.
func (c *Clients) NameOf(program string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found := ""
	for name := range c.byName {
		if observe.ProgramOf(name) != program {
			continue
		}
		if found != "" {
			return program
		}
		found = name
	}
	return cmp.Or(found, program)
}

var errClosing = errors.New("the control plane is stopping")

// Close makes held writes fail, so that the API server need not wait for them.
func (c *Clients) Close() {
	for _, cl := range c.sorted() {
		cl.gate.CloseWithError(errClosing)
	}
	for _, rc := range c.sortedControllers() {
		rc.gate.CloseWithError(errClosing)
	}
}

// RefuseWaiting makes the writes that are held or delayed fail with a conflict, for that
// reason. Interventions stay in effect.
func (c *Clients) RefuseWaiting(reason error) {
	for _, cl := range c.sorted() {
		cl.gate.RefuseWaiting(reason)
	}
}

// Snapshot returns the clients by name.
func (c *Clients) Snapshot() []observe.Client {
	now, clients := time.Now(), c.sorted()
	sharing := shareConnections(clients)
	var list []observe.Client
	for _, cl := range clients {
		v := cl.snapshot(now)
		v.SharesConnection = sharing[cl]
		list = append(list, v)
	}
	return list
}

func (c *Clients) sorted() []*client {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Values(c.byName), func(a, b *client) int { return cmp.Compare(a.name, b.name) })
}
