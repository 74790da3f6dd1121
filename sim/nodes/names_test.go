package nodes

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFreeNames(t *testing.T) {
	taken := map[string]bool{"node-2": true, "node-4": true, "other": true}
	if diff := cmp.Diff([]string{"node-1", "node-3", "node-5"}, freeNames(taken, 3)); diff != "" {
		t.Error(diff)
	}
	if got := freeNames(taken, -1); len(got) != 0 {
		t.Errorf("freeNames(-1) = %v", got)
	}
}

func TestZone(t *testing.T) {
	var got []string
	for _, name := range freeNames(nil, 4) {
		got = append(got, zoneOf(name, 3))
	}
	if diff := cmp.Diff([]string{"zone-a", "zone-b", "zone-c", "zone-a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompareNames(t *testing.T) {
	got := []string{"node-10", "worker", "node-9", "node-1", "edge-2"}
	slices.SortFunc(got, compareNames)
	if diff := cmp.Diff([]string{"edge-2", "node-1", "node-9", "node-10", "worker"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAddressPool(t *testing.T) {
	p := newAddressPool(netip.MustParsePrefix("10.0.0.0/29")) // .1 to .6
	p.reserve(netip.MustParseAddr("10.0.0.2"))
	p.reserve(netip.MustParseAddr("10.9.9.9")) // outside the range
	var got []string
	for range 5 {
		addr, ok := p.allocate()
		if !ok {
			t.Fatal("the range is exhausted too early")
		}
		got = append(got, addr.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"}, got); diff != "" {
		t.Error(diff)
	}
	if addr, ok := p.allocate(); ok {
		t.Errorf("allocated %s of a full range", addr)
	}
	p.release(netip.MustParseAddr("10.0.0.4"))
	if addr, ok := p.allocate(); !ok || addr.String() != "10.0.0.4" {
		t.Errorf("allocate = %s, %v after 10.0.0.4 was released", addr, ok)
	}
	if addr, ok := newAddressPool(netip.MustParsePrefix("10.0.0.0/31")).allocate(); ok {
		t.Errorf("allocated %s of a range without hosts", addr)
	}
}
