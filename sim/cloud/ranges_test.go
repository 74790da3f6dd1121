package cloud

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const podCIDR, serviceCIDR = "10.244.0.0/16", "10.96.0.0/12"

func TestNewRefusesInvalidRanges(t *testing.T) {
	for _, tc := range []struct{ ranges, want string }{
		{"203.0.113.0", `--load-balancer-range "203.0.113.0": not a CIDR: write it like 203.0.113.0/24`},
		{"203.0.113.0/33", `--load-balancer-range "203.0.113.0/33": not a CIDR`},
		{"203.0.113.0/-1", `--load-balancer-range "203.0.113.0/-1": not a CIDR`},
		{"some", `--load-balancer-range "some": not a CIDR`},
		{"203.0.113.0/24,", `--load-balancer-range "": not a CIDR`},
		{"203.0.113.9/24", "--load-balancer-range 203.0.113.9/24: not the start of a range: did you mean 203.0.113.0/24?"},
		{"::ffff:203.0.113.0/120", "--load-balancer-range ::ffff:203.0.113.0/120: IPv4-mapped IPv6"},
		{"224.0.0.0/24", "--load-balancer-range 224.0.0.0/24: not addresses of hosts"},
		{"0.0.0.0/0", "--load-balancer-range 0.0.0.0/0: not addresses of hosts"},
		{"203.0.113.0/24, 203.0.113.128/25", "--load-balancer-range 203.0.113.128/25: overlaps with 203.0.113.0/24"},
		{"10.96.7.0/24", "--load-balancer-range 10.96.7.0/24: overlaps with the range of the Services, 10.96.0.0/12"},
		{"10.244.0.0/24", "--load-balancer-range 10.244.0.0/24: overlaps with the range of the Pods, 10.244.0.0/16"},
	} {
		_, err := New(Config{Ranges: tc.ranges, PodCIDR: podCIDR, ServiceCIDR: serviceCIDR})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %s", tc.ranges, err, tc.want)
			continue
		}
		if !errors.As(err, new(usage.Error)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: not a usage error on one line: %v", tc.ranges, err)
		}
	}
}

func TestNewRefusesOtherRanges(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{PodCIDR: "x", ServiceCIDR: serviceCIDR},
		{PodCIDR: podCIDR, ServiceCIDR: "x"},
	} {
		if _, err := New(cfg); !errors.As(err, new(usage.Error)) {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}

func TestNewAcceptsDefaults(t *testing.T) {
	for _, cfg := range []Config{
		{PodCIDR: podCIDR},
		{PodCIDR: podCIDR + ",fd00:10:244::/48", ServiceCIDR: serviceCIDR + ",fd00:10:96::/108"},
	} {
		if _, err := New(cfg); err != nil {
			t.Error(err)
		}
	}
}

func TestUsable(t *testing.T) {
	for _, tc := range []struct {
		prefix, addr string
		want         bool
	}{
		{"203.0.113.0/24", "203.0.113.0", false},
		{"203.0.113.0/24", "203.0.113.1", true},
		{"203.0.113.0/24", "203.0.113.254", true},
		{"203.0.113.0/24", "203.0.113.255", false},
		{"203.0.113.0/24", "203.0.114.1", false},
		{"255.255.255.0/24", "255.255.255.255", false},
		{"203.0.113.8/31", "203.0.113.8", true},
		{"203.0.113.8/31", "203.0.113.9", true},
		{"203.0.113.8/32", "203.0.113.8", true},
		{"2001:db8::/112", "2001:db8::", false},
		{"2001:db8::/112", "2001:db8::ffff", true},
		{"2001:db8::7/128", "2001:db8::7", true},
	} {
		if got := isUsable(netip.MustParsePrefix(tc.prefix), netip.MustParseAddr(tc.addr)); got != tc.want {
			t.Errorf("%s of %s: %v", tc.addr, tc.prefix, got)
		}
	}
}
