// Package neterror recognizes errors of the network on every system. On Windows the constants of
// package syscall with the names of Unix are numbers that the system never returns.
package neterror

import (
	"errors"
	"syscall"
)

// From winerror.h. No Unix has numbers as high as these.
const (
	wsaAccess       = syscall.Errno(10013)
	wsaAddrInUse    = syscall.Errno(10048)
	wsaAddrNotAvail = syscall.Errno(10049)
	wsaNetDown      = syscall.Errno(10050)
	wsaNetUnreach   = syscall.Errno(10051)
	wsaConnReset    = syscall.Errno(10054)
	wsaConnRefused  = syscall.Errno(10061)
	wsaHostUnreach  = syscall.Errno(10065)
)

// IsRefused reports whether nothing listens on the port that a client has connected to.
func IsRefused(err error) bool { return is(err, syscall.ECONNREFUSED, wsaConnRefused) }

// IsReset reports whether the other end has closed a connection that was in use.
func IsReset(err error) bool { return is(err, syscall.ECONNRESET, wsaConnReset) }

// IsAddressInUse reports whether another program has the port to listen on. On Windows the error is
// the one for a forbidden access if that program has it for itself alone, or the system has reserved
// the port.
func IsAddressInUse(err error) bool { return is(err, syscall.EADDRINUSE, wsaAddrInUse, wsaAccess) }

// IsAddressUnavailable reports whether the machine does not have the address to listen on.
func IsAddressUnavailable(err error) bool { return is(err, syscall.EADDRNOTAVAIL, wsaAddrNotAvail) }

// IsUnreachable reports whether the machine has no way to an address.
func IsUnreachable(err error) bool {
	return is(err, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, wsaNetDown, wsaNetUnreach, wsaHostUnreach)
}

func is(err error, numbers ...syscall.Errno) bool {
	for _, errno := range numbers {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
