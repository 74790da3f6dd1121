// Package peer finds which program is at the other end of a connection from this machine: what a
// user agent says is often the name of a library that many programs use.
package peer

import (
	"context"
	"net"
	"net/http"
)

// address is the local address of a connection. An http.Server puts it in the context of each request, so
// that it can carry what is known of the connection until that closes.
type address struct {
	net.Addr
	program func() string // finds it once; concurrent calls wait
}

// Program returns the name of the program that has sent the request with a context, over a listener that
// Listen has returned; "" if it is not known. The name is any text that the user of the program has chosen.
func Program(request context.Context) string {
	local, ok := request.Value(http.LocalAddrContextKey).(*address)
	if !ok {
		return ""
	}
	return local.program()
}
