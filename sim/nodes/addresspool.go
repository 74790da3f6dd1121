package nodes

import "net/netip"

// addressPool allocates the addresses of a range. It does not allocate a released
// address again soon.
type addressPool struct {
	prefix netip.Prefix
	used   map[netip.Addr]bool
	last   netip.Addr
}

func newAddressPool(prefix netip.Prefix) *addressPool {
	prefix = prefix.Masked()
	return &addressPool{prefix: prefix, used: map[netip.Addr]bool{}, last: prefix.Addr()}
}

// allocate returns a free address, but not the first or last of the range; false if
// all are in use.
func (p *addressPool) allocate() (netip.Addr, bool) {
	if p.prefix.Bits() > p.prefix.Addr().BitLen()-2 {
		return netip.Addr{}, false
	}
	addr := p.last
	for range len(p.used) + 1 { // of one more address than are in use, one is free or the range ends
		if addr = addr.Next(); !p.prefix.Contains(addr.Next()) {
			addr = p.prefix.Addr().Next()
		}
		if !p.used[addr] {
			p.used[addr], p.last = true, addr
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// reserve marks an address as used.
func (p *addressPool) reserve(addr netip.Addr) {
	if p.prefix.Contains(addr) {
		p.used[addr] = true
	}
}

// hasAllocated reports whether an address was allocated, whether or not it is still in use.
func (p *addressPool) hasAllocated(addr netip.Addr) bool {
	return p.prefix.Contains(addr) && p.last.Compare(addr) >= 0
}

func (p *addressPool) release(addr netip.Addr) { delete(p.used, addr) }
