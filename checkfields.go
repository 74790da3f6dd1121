package ctrlplane

import (
	"cmp"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// checkFields returns a usage error for a field with which no start can succeed. It names
// the field by its flag. The parts of the control plane check what only they can know.
func (s *Server) checkFields() error {
	if s.Observe.Records > observe.MaxRecords {
		return usage.Errorf("--observe-records %d: more than %d do not fit in memory: keep fewer", s.Observe.Records, observe.MaxRecords)
	}
	for _, host := range s.Hosts {
		if net.ParseIP(host) == nil && (len(host) > 253 || !hostPattern.MatchString(host)) {
			return usage.Errorf("--host %q: not a host name or an IP address: write one without spaces and wildcards, such as dev.example.com", host)
		}
	}
	if s.Kubernetes != "" {
		if _, err := ParseKubernetesVersion(s.Kubernetes); err != nil {
			return err
		}
	}
	services, err := parseCIDRs("--service-cidr", cmp.Or(s.Network.ServiceCIDR, defaultServiceCIDR))
	if err != nil {
		return err
	}
	pods, err := parseCIDRs("--pod-cidr", cmp.Or(s.Network.PodCIDR, defaultPodCIDR))
	if err != nil {
		return err
	}
	for _, a := range services {
		for _, b := range pods {
			if a.Overlaps(b) {
				return usage.Errorf("--service-cidr %s: overlaps with the Pods' range %s: change --service-cidr or --pod-cidr", a, b)
			}
		}
	}
	return nil
}

// hostPattern matches host names. It allows underscores, as certificates do.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*$`)

// parseCIDRs parses one CIDR, or one of each IP family with a comma in between.
func parseCIDRs(flag, list string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		r, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usage.Errorf("%s %q: not a CIDR: write it like 10.32.0.0/16", flag, text)
		}
		for _, other := range ranges {
			if other.Addr().Is4() == r.Addr().Is4() {
				return nil, usage.Errorf("%s %s: two ranges of the same IP family: use one, or one of IPv4 and one of IPv6", flag, list)
			}
		}
		ranges = append(ranges, r.Masked())
	}
	return ranges, nil
}
