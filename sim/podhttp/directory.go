package podhttp

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// PodRange has the addresses of Pods on simulated nodes that have no pod CIDR (yet).
var PodRange = netip.MustParsePrefix("100.64.0.0/10")

// Pod is a Pod with a table.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	Addresses       []netip.Addr
	Table           Table
	// Running says that a container of the Pod is running: if not, nothing listens at
	// its addresses.
	Running bool
	text    string // of the table
}

// Directory knows the Pods that have a table. Its zero value is empty. It is safe for
// concurrent use.
type Directory struct {
	mu          sync.RWMutex
	byUID       map[types.UID]*Pod
	isSimulated func(netip.Addr) bool
	isReserved  func(netip.Addr) bool
	conns       map[net.Conn]bool // open, the server's ends
	wg          sync.WaitGroup
}

// Set stores the table of a Pod; an empty or invalid text removes it.
func (d *Directory) Set(p Pod, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if was := d.byUID[p.UID]; was != nil && was.text == text {
		p.Table = was.Table
	} else if text != "" {
		p.Table, _ = Parse(text) // the error is an event of the Pod
	}
	if p.Table.rows == nil {
		delete(d.byUID, p.UID)
		return
	}
	if d.byUID == nil {
		d.byUID = map[types.UID]*Pod{}
	}
	p.text = text
	d.byUID[p.UID] = &p
}

// Remove forgets a Pod.
func (d *Directory) Remove(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byUID, uid)
}

// Has reports whether a Pod has a table.
func (d *Directory) Has(uid types.UID) bool {
	_, ok := d.Pod(uid)
	return ok
}

// Pod returns a Pod that has a table.
func (d *Directory) Pod(uid types.UID) (Pod, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if p := d.byUID[uid]; p != nil {
		return *p, true
	}
	return Pod{}, false
}

// At returns the running Pod that listens at an address.
func (d *Directory) At(addr netip.Addr, port int) (Pod, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.byUID {
		if p.Running && p.Table.Listens(port) && slices.Contains(p.Addresses, addr) {
			return *p, true
		}
	}
	return Pod{}, false
}

// SetSimulated sets what tells the addresses of simulated Pods, with or without a
// table, from others; nil means that none exists.
func (d *Directory) SetSimulated(isSimulated func(netip.Addr) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isSimulated = isSimulated
}

// IsActive reports whether the simulated nodes run in this process now, so that their addresses are known.
func (d *Directory) IsActive() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.isSimulated != nil
}

// SetReserved sets what tells the addresses that only simulated Pods can have, though none
// may have them now; nil means that none exists.
func (d *Directory) SetReserved(isReserved func(netip.Addr) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isReserved = isReserved
}

// mayBeOutside reports whether an address can be that of something that is not simulated.
func (d *Directory) mayBeOutside(addr netip.Addr) bool {
	d.mu.RLock()
	is := d.isReserved
	d.mu.RUnlock()
	return is == nil || !is(addr)
}

// IsSimulated reports whether an address is that of a simulated Pod.
func (d *Directory) IsSimulated(addr netip.Addr) bool {
	d.mu.RLock()
	is := d.isSimulated
	d.mu.RUnlock()
	return is != nil && is(addr)
}
