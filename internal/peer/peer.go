// Package peer finds which process is at the other end of a connection from this machine, and which program that runs: what
// a user agent says is often the name of a library that many programs use.
package peer

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// maxAttempts is how often a process is looked for. It may have closed the connection, or be of another user.
const maxAttempts = 3

// address is the local address of a connection. An http.Server puts it in the context of each request, so
// that it can carry what is known of the connection until that closes.
type address struct {
	net.Addr
	find    func() (p process, found bool)
	lookups *lookups

	mu       sync.Mutex // while the process is looked up
	attempts int
	found    process

	last atomic.Pointer[Process] // what Find has returned
}

// process is what is known of the process that has opened a connection.
type process struct {
	id      int    // 0 = it is not known, or passes on what other processes send
	program string // "" if it has no name
}

// process returns what was found; concurrent calls wait for that. After a failure the next call tries again: isFinal is not
// set then.
func (a *address) process() (found process, isFinal bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts == maxAttempts {
		return a.found, true
	}
	a.attempts++
	p, ok := a.find()
	if ok {
		a.found, a.attempts = p, maxAttempts
	}
	return a.found, a.attempts == maxAttempts
}

// Program returns the name of the program that has sent a request, over a listener that Listen has returned; ""
// if it is not known, or a proxy has sent the request. The name is any text that the user of the program has chosen.
func Program(req *http.Request) string { return processOf(req).program }

func processOf(req *http.Request) process {
	local := addressOf(req)
	if local == nil {
		return process{}
	}
	p, _ := local.process()
	return p
}

// addressOf returns what carries what is known of the connection of a request; nil if its process cannot be known.
func addressOf(req *http.Request) *address {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*address)
	if !ok || req.Header.Get("X-Forwarded-For") != "" {
		return nil
	}
	return local
}
