package peer

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A request of sock_diag(7) for one connection, and the beginning of the answer, as in linux/inet_diag.h. In
// /proc/net/tcp the kernel lists all connections, which takes milliseconds.
type (
	socketID struct {
		SourcePort, TargetPort [2]byte
		Source, Target         [16]byte
		Interface              uint32
		Cookie                 [2]uint32
	}
	diagRequest struct {
		unix.NlMsghdr
		Family, Protocol, Extensions, Padding uint8
		States                                uint32
		ID                                    socketID
	}
	diagAnswer struct {
		unix.NlMsghdr
		Family, State, Timer, Retransmits             uint8
		ID                                            socketID
		Expires, ReceiveQueue, SendQueue, User, Inode uint32
	}
)

// findSocket returns the socket by which a process has connected from an address to another one, as links to it
// name it; "" if there is none, or its process is that of another user and cannot be seen.
func findSocket(to, from *net.TCPAddr) string {
	request, err := newDiagRequest(to, from)
	if err != nil {
		return ""
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return ""
	}
	buffer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, buffer, unix.MSG_DONTWAIT) // the answer is there once the request is sent
	if err != nil {
		return ""
	}
	var answer diagAnswer
	if err := binary.Read(bytes.NewReader(buffer[:n]), binary.NativeEndian, &answer); err != nil || answer.Type != unix.SOCK_DIAG_BY_FAMILY || answer.Inode == 0 {
		return ""
	}
	if own := os.Geteuid(); own != 0 && answer.User != uint32(own) {
		return ""
	}
	return "socket:[" + strconv.FormatUint(uint64(answer.Inode), 10) + "]"
}

func newDiagRequest(to, from *net.TCPAddr) ([]byte, error) {
	r := diagRequest{Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: ^uint32(0)}
	r.Len, r.Type, r.Flags = uint32(binary.Size(r)), unix.SOCK_DIAG_BY_FAMILY, unix.NLM_F_REQUEST
	source, target := from.IP.To16(), to.IP.To16()
	if from4, to4 := from.IP.To4(), to.IP.To4(); from4 != nil && to4 != nil {
		r.Family, source, target = unix.AF_INET, from4, to4
	}
	copy(r.ID.Source[:], source)
	copy(r.ID.Target[:], target)
	binary.BigEndian.PutUint16(r.ID.SourcePort[:], from.AddrPort().Port())
	binary.BigEndian.PutUint16(r.ID.TargetPort[:], to.AddrPort().Port())
	r.ID.Cookie = [2]uint32{^uint32(0), ^uint32(0)} // any
	return binary.Append(nil, binary.NativeEndian, &r)
}
