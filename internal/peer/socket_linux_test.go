package peer

import (
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFindSocket(t *testing.T) {
	for name, tt := range map[string]struct {
		listen string
		family int
		dial   string
	}{
		"IPv4":                          {"127.0.0.1:0", unix.AF_INET, "127.0.0.1"},
		"IPv4 to a server of both":      {":0", unix.AF_INET, "127.0.0.1"},
		"IPv4 by an IPv6 socket (Java)": {"127.0.0.1:0", unix.AF_INET6, "127.0.0.1"},
		"IPv6":                          {"[::1]:0", unix.AF_INET6, "::1"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", tt.listen)
			if err != nil {
				t.Skip(err) // there may be no IPv6
			}
			defer l.Close()
			fd := dial(t, tt.family, net.ParseIP(tt.dial), l.Addr().(*net.TCPAddr).Port)
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			want, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			if err != nil {
				t.Fatal(err)
			}
			to, from := server.LocalAddr().(*net.TCPAddr), server.RemoteAddr().(*net.TCPAddr)
			if got := findSocket(to, from); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := findSocket(&net.TCPAddr{IP: to.IP, Port: 1}, from); got != "" {
				t.Errorf("to another server: got %q", got)
			}
		})
	}
}

// dial connects a socket of a family, which net.Dial would choose by the address.
func dial(t *testing.T, family int, ip net.IP, port int) (fd int) {
	t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err) // there may be no IPv6
	}
	t.Cleanup(func() { unix.Close(fd) })
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: port, Addr: [16]byte(ip.To16())}
	if family == unix.AF_INET {
		to = &unix.SockaddrInet4{Port: port, Addr: [4]byte(ip.To4())}
	}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	return fd
}
