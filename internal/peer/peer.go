// Package peer finds which process is at the other end of a connection from this machine, and which program that runs: what
// a user agent says is often the name of a library that many programs use.
package peer

import (
	"net"
	"net/http"
	"strconv"
	"sync"
)

// maxAttempts is how often a process is looked for. It may have closed the connection, or be of another user.
const maxAttempts = 3

// address is the local address of a connection. An http.Server puts it in the context of each request, so
// that it can carry what is known of the connection until that closes.
type address struct {
	net.Addr
	find func() (p process, found bool)

	mu       sync.Mutex
	attempts int
	found    process
}

// process is what is known of the process that has opened a connection.
type process struct {
	id      int    // 0 = it is not known, or passes on what other processes send
	program string // "" if it has no name
}

// process returns what was found; concurrent calls wait for that. After a failure the next call tries again.
func (a *address) process() process {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts == maxAttempts {
		return a.found
	}
	a.attempts++
	p, found := a.find()
	if found {
		a.found, a.attempts = p, maxAttempts
	}
	return a.found
}

// Program returns the name of the program that has sent a request, over a listener that Listen has returned; ""
// if it is not known, or a proxy has sent the request. The name is any text that the user of the program has chosen.
func Program(req *http.Request) string { return processOf(req).program }

// Process identifies the process that has sent a request, among those that run; "" if Program cannot know it.
func Process(req *http.Request) string {
	if id := processOf(req).id; id != 0 {
		return strconv.Itoa(id)
	}
	return ""
}

func processOf(req *http.Request) process {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*address)
	if !ok || req.Header.Get("X-Forwarded-For") != "" {
		return process{}
	}
	return local.process()
}
