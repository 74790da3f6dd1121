// Package peer finds which program is at the other end of a connection from this machine: what a
// user agent says is often the name of a library that many programs use.
package peer

import (
	"net"
	"net/http"
	"sync"
)

// maxAttempts is how often a process is looked for. It may have closed the connection, or be of another user.
const maxAttempts = 3

// address is the local address of a connection. An http.Server puts it in the context of each request, so
// that it can carry what is known of the connection until that closes.
type address struct {
	net.Addr
	find func() (program string, found bool)

	mu       sync.Mutex
	attempts int
	name     string
}

// program returns what was found; concurrent calls wait for that. After a failure the next call tries again.
func (a *address) program() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts == maxAttempts {
		return a.name
	}
	a.attempts++
	name, found := a.find()
	if found {
		a.name, a.attempts = name, maxAttempts
	}
	return a.name
}

// Program returns the name of the program that has sent a request, over a listener that Listen has returned; ""
// if it is not known, or a proxy has sent the request. The name is any text that the user of the program has chosen.
func Program(req *http.Request) string {
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*address)
	if !ok || req.Header.Get("X-Forwarded-For") != "" {
		return ""
	}
	return local.program()
}
