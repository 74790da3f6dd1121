package neterror

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestEachSystemsNumbers(t *testing.T) {
	tests := map[string]struct {
		is   func(error) bool
		nums []syscall.Errno // of Unix, and of winerror.h
	}{
		"refused":             {IsRefused, []syscall.Errno{syscall.ECONNREFUSED, 10061}},
		"reset":               {IsReset, []syscall.Errno{syscall.ECONNRESET, 10054}},
		"address in use":      {IsAddressInUse, []syscall.Errno{syscall.EADDRINUSE, 10048, 10013}},
		"unreachable":         {IsUnreachable, []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, 10050, 10051, 10065}},
		"address unavailable": {IsAddressUnavailable, []syscall.Errno{syscall.EADDRNOTAVAIL, 10049}},
	}
	for name, test := range tests {
		for _, errno := range test.nums {
			err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
			for other, of := range tests {
				if got := of.is(err); got != (other == name) {
					t.Errorf("%v: %s is %v", err, other, got)
				}
			}
		}
		if test.is(nil) || test.is(errors.New("dial tcp: connection refused")) {
			t.Errorf("%s: no error of the system", name)
		}
	}
}

// TestListen has the system make the errors, so that this runs on each.
func TestListen(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := first.Addr().String()
	if _, err := net.Listen("tcp", address); !IsAddressInUse(err) {
		t.Errorf("a port in use: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", address); !IsRefused(err) {
		t.Errorf("nothing listens: %v", err)
	}
	if _, err := net.Listen("tcp", "192.0.2.1:0"); !IsAddressUnavailable(err) { // RFC 5737: no machine has it
		t.Errorf("an address of no machine: %v", err)
	}
}
