package cloud

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addressAllocator allocates the addresses of the ranges to Services.
type addressAllocator struct {
	ranges []netip.Prefix

	mu     sync.Mutex
	owners map[netip.Addr]owner
	held   map[types.UID][]netip.Addr // by owner, at most one of each family
}

// owner is a Service.
type owner struct {
	uid  types.UID
	name string // NAMESPACE/NAME
}

// notFreeError means that an address may become available later.
type notFreeError struct{ msg string }

func (e notFreeError) Error() string { return e.msg }

func newAddressAllocator(ranges []netip.Prefix) *addressAllocator {
	a := &addressAllocator{ranges: ranges}
	a.reset()
	return a
}

// reset releases all addresses.
func (a *addressAllocator) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owners, a.held = map[netip.Addr]owner{}, map[types.UID][]netip.Addr{}
}

// heldBy returns the addresses of an owner.
func (a *addressAllocator) heldBy(uid types.UID) []netip.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.held[uid])
}

// release releases the addresses of an owner.
func (a *addressAllocator) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setHeld(owner{uid: uid}, nil)
}

// claimAddresses gives an owner those of the wanted addresses that are in a range and free.
func (a *addressAllocator) claimAddresses(o owner, wanted []netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var got []netip.Addr
	for _, w := range wanted {
		if _, taken := a.owners[w]; !taken && a.inRange(w) {
			got = append(got, w)
		}
	}
	a.setHeld(o, got)
}

// assignAddresses gives an owner one address of each family: the wanted one, or else the one
// that it holds, or else the lowest free one. A family without a range gets none,
// unless no family has a range: that is an error. An error changes nothing.
func (a *addressAllocator) assignAddresses(o owner, families []corev1.IPFamily, wanted []netip.Addr) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range wanted {
		if err := a.checkAvailable(o, families, w); err != nil {
			return nil, err
		}
	}
	var got []netip.Addr
	for _, family := range families {
		ofFamily := func(addr netip.Addr) bool { return familyOf(addr) == family }
		if i := slices.IndexFunc(wanted, ofFamily); i >= 0 {
			got = append(got, wanted[i])
		} else if i := slices.IndexFunc(a.held[o.uid], ofFamily); i >= 0 {
			got = append(got, a.held[o.uid][i])
		} else if a.hasFamily(family) {
			free, err := a.lowestFree(family)
			if err != nil {
				return nil, err
			}
			got = append(got, free)
		}
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("no range has %s addresses: add one to --load-balancer-range", joinFamilies(families))
	}
	a.setHeld(o, got)
	return slices.Clone(got), nil
}

// setHeld replaces the addresses of an owner.
func (a *addressAllocator) setHeld(o owner, addrs []netip.Addr) {
	for _, old := range a.held[o.uid] {
		delete(a.owners, old)
	}
	delete(a.held, o.uid)
	for _, addr := range addrs {
		a.owners[addr] = o
	}
	if len(addrs) > 0 {
		a.held[o.uid] = addrs
	}
}

// checkAvailable returns why an owner cannot have an address that it wants.
func (a *addressAllocator) checkAvailable(o owner, families []corev1.IPFamily, w netip.Addr) error {
	if !slices.Contains(families, familyOf(w)) {
		return fmt.Errorf("%s is an %s address, and the Service is for %s", w, familyOf(w), joinFamilies(families))
	}
	if !a.inRange(w) {
		return fmt.Errorf("%s is not in the range for load balancers: choose an address of %s", w, a.rangeNames(nil))
	}
	if has, taken := a.owners[w]; taken && has.uid != o.uid {
		return notFreeError{fmt.Sprintf("%s is not free: Service %s has it", w, has.name)}
	}
	return nil
}

func (a *addressAllocator) lowestFree(family corev1.IPFamily) (netip.Addr, error) {
	for _, r := range a.ranges {
		if familyOf(r.Addr()) != family {
			continue
		}
		for addr := r.Addr(); r.Contains(addr); addr = addr.Next() {
			if _, taken := a.owners[addr]; !taken && isUsable(r, addr) {
				return addr, nil
			}
		}
	}
	return netip.Addr{}, notFreeError{fmt.Sprintf(
		"all addresses of %s are in use: delete a Service of type LoadBalancer, or give --load-balancer-range a larger one", a.rangeNames(&family))}
}

func (a *addressAllocator) inRange(addr netip.Addr) bool {
	return slices.ContainsFunc(a.ranges, func(r netip.Prefix) bool { return isUsable(r, addr) })
}

func (a *addressAllocator) hasFamily(family corev1.IPFamily) bool {
	return slices.ContainsFunc(a.ranges, func(r netip.Prefix) bool { return familyOf(r.Addr()) == family })
}

// rangeNames lists the ranges of a family; nil means all families.
func (a *addressAllocator) rangeNames(family *corev1.IPFamily) string {
	var names []string
	for _, r := range a.ranges {
		if family == nil || familyOf(r.Addr()) == *family {
			names = append(names, r.String())
		}
	}
	return strings.Join(names, ", ")
}

func joinFamilies(families []corev1.IPFamily) string {
	var names []string
	for _, f := range families {
		names = append(names, string(f))
	}
	return strings.Join(names, " and ")
}
