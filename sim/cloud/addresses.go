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

// addresses is who has which address of the ranges.
type addresses struct {
	ranges []netip.Prefix

	mu    sync.Mutex
	owner map[netip.Addr]owner
	held  map[types.UID][]netip.Addr // of each owner, one of a family
}

// owner is a Service.
type owner struct {
	uid  types.UID
	name string // NAMESPACE/NAME
}

// notFreeError is for an address that may be had later: when another goes.
type notFreeError struct{ msg string }

func (e notFreeError) Error() string { return e.msg }

func newAddresses(ranges []netip.Prefix) *addresses {
	a := &addresses{ranges: ranges}
	a.forget()
	return a
}

// forget takes all addresses back.
func (a *addresses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner, a.held = map[netip.Addr]owner{}, map[types.UID][]netip.Addr{}
}

// of returns what an owner has.
func (a *addresses) of(uid types.UID) []netip.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.held[uid])
}

// release takes an owner's addresses back.
func (a *addresses) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.give(owner{uid: uid}, nil)
}

// claim gives an owner those of the addresses that are usable and free.
func (a *addresses) claim(o owner, wanted []netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var got []netip.Addr
	for _, w := range wanted {
		if _, taken := a.owner[w]; !taken && a.inRange(w) {
			got = append(got, w)
		}
	}
	a.give(o, got)
}

// assign gives an owner one address of each family: the wanted one, else the
// one that it has, else the lowest that is free. A family without a range is
// left out, unless no other is there. After an error the owner has what it had.
func (a *addresses) assign(o owner, families []corev1.IPFamily, wanted []netip.Addr) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range wanted {
		if err := a.grantable(o, families, w); err != nil {
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
		} else if a.serves(family) {
			free, err := a.lowestFree(family)
			if err != nil {
				return nil, err
			}
			got = append(got, free)
		}
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("no range has %s addresses: add one to --load-balancer-range", joined(families))
	}
	a.give(o, got)
	return slices.Clone(got), nil
}

// give makes addrs all that an owner has.
func (a *addresses) give(o owner, addrs []netip.Addr) {
	for _, old := range a.held[o.uid] {
		delete(a.owner, old)
	}
	delete(a.held, o.uid)
	for _, addr := range addrs {
		a.owner[addr] = o
	}
	if len(addrs) > 0 {
		a.held[o.uid] = addrs
	}
}

// grantable says why an owner cannot have an address that it asks for.
func (a *addresses) grantable(o owner, families []corev1.IPFamily, w netip.Addr) error {
	if !slices.Contains(families, familyOf(w)) {
		return fmt.Errorf("%s is an %s address, and the Service is for %s", w, familyOf(w), joined(families))
	}
	if !a.inRange(w) {
		return fmt.Errorf("%s cannot be given to a load balancer: choose an address of %s", w, a.names(nil))
	}
	if has, taken := a.owner[w]; taken && has.uid != o.uid {
		return notFreeError{fmt.Sprintf("%s is not free: Service %s has it", w, has.name)}
	}
	return nil
}

func (a *addresses) lowestFree(family corev1.IPFamily) (netip.Addr, error) {
	for _, r := range a.ranges {
		if familyOf(r.Addr()) != family {
			continue
		}
		for addr := r.Addr(); r.Contains(addr); addr = addr.Next() {
			if _, taken := a.owner[addr]; !taken && usable(r, addr) {
				return addr, nil
			}
		}
	}
	return netip.Addr{}, notFreeError{fmt.Sprintf(
		"all addresses of %s are in use: delete a Service of type LoadBalancer, or give --load-balancer-range a larger one", a.names(&family))}
}

func (a *addresses) inRange(addr netip.Addr) bool {
	return slices.ContainsFunc(a.ranges, func(r netip.Prefix) bool { return usable(r, addr) })
}

func (a *addresses) serves(family corev1.IPFamily) bool {
	return slices.ContainsFunc(a.ranges, func(r netip.Prefix) bool { return familyOf(r.Addr()) == family })
}

// names lists the ranges of a family; nil = of all.
func (a *addresses) names(family *corev1.IPFamily) string {
	var names []string
	for _, r := range a.ranges {
		if family == nil || familyOf(r.Addr()) == *family {
			names = append(names, r.String())
		}
	}
	return strings.Join(names, ", ")
}

func joined(families []corev1.IPFamily) string {
	var names []string
	for _, f := range families {
		names = append(names, string(f))
	}
	return strings.Join(names, " and ")
}
