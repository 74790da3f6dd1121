//go:build !linux

package peer

import "net"

// Listen returns l: the programs at the other ends of its connections are not known.
func Listen(l net.Listener) net.Listener { return l }
