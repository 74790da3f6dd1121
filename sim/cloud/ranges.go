package cloud

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// parseRanges parses CIDRs that are separated by commas.
func parseRanges(list string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		r, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, usage.Errorf("--load-balancer-range %q: not a CIDR: write it like 203.0.113.0/24", text)
		case r.Addr().Is4In6():
			return nil, usage.Errorf("--load-balancer-range %s: IPv4-mapped IPv6: write it like 203.0.113.0/24", text)
		case r != r.Masked():
			return nil, usage.Errorf("--load-balancer-range %s: not the start of a range: did you mean %s?", text, r.Masked())
		case r.Addr().IsMulticast() || r.Addr().IsUnspecified():
			return nil, usage.Errorf("--load-balancer-range %s: not addresses of hosts: choose a unicast range", text)
		}
		for _, other := range ranges {
			if r.Overlaps(other) {
				return nil, usage.Errorf("--load-balancer-range %s: overlaps with %s", r, other)
			}
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// checkOverlap returns an error if a range overlaps with the list of ranges of others.
func checkOverlap(ranges []netip.Prefix, others, list string) error {
	if list == "" {
		return nil
	}
	for text := range strings.SplitSeq(list, ",") {
		taken, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return usage.Errorf("range of the %s: %w", others, err)
		}
		for _, r := range ranges {
			if r.Overlaps(taken) {
				return usage.Errorf("--load-balancer-range %s: overlaps with the range of the %s, %s", r, others, taken)
			}
		}
	}
	return nil
}

// isUsable reports whether a host can have an address of r. The first address names
// the network and the last one of IPv4 is for broadcasts, unless there are only two.
func isUsable(r netip.Prefix, a netip.Addr) bool {
	if !r.Contains(a) {
		return false
	}
	if r.Bits() >= a.BitLen()-1 {
		return true
	}
	return a != r.Addr() && (a.Is6() || r.Contains(a.Next()))
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}
