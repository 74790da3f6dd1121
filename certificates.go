package ctrlplane

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	netutils "k8s.io/utils/net"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	// expiryNotice is how long before the first certificate expires a warning says so.
	expiryNotice = 14 * 24 * time.Hour
	// expiryInterval is how often to look: a timer stands still while the machine sleeps.
	expiryInterval = time.Hour
)

func (p *controlPlane) ensureCertificates(context.Context) (err error) {
	host, _, err := net.SplitHostPort(p.listenAddress())
	if err != nil {
		return usage.Errorf("listen address %q: %w: write HOST:PORT", p.config.Listen, err)
	}
	cfg := pki.Config{Dir: p.dir.Join("pki"), NoSync: p.dir.Ephemeral()}
	for _, name := range append([]string{host}, p.config.Hosts...) {
		if ip := net.ParseIP(name); ip != nil {
			cfg.IPs = append(cfg.IPs, ip)
		} else {
			cfg.DNSNames = append(cfg.DNSNames, name)
		}
	}
	primary, _, _ := strings.Cut(p.serviceCIDR(), ",") // a second range is for dual stack
	_, services, err := net.ParseCIDR(primary)
	if err != nil {
		return usage.Errorf("--service-cidr: %w", err)
	}
	first, err := netutils.GetIndexedIP(services, 1) // of the Service "kubernetes"
	if err != nil {
		return usage.Errorf("--service-cidr %s: no address for the Service kubernetes: use a larger range", primary)
	}
	cfg.IPs = append(cfg.IPs, first)
	p.certs, err = pki.Ensure(cfg)
	return err
}

// watchCertificates warns once when a certificate expires soon: it is renewed at a start only.
func (p *controlPlane) watchCertificates() {
	tick := time.NewTicker(expiryInterval)
	defer tick.Stop()
	for !hasPassed(0, p.certs.Expires.Add(-expiryNotice), time.Now()) {
		select {
		case <-p.closing:
			return
		case <-tick.C:
		}
	}
	p.warnWhileRunning(describeExpiry(p.certs))
}

func describeExpiry(certs *pki.Bundle) string {
	advice := "restart it before then to renew them"
	if certs.ExpiringCA != "" {
		advice = fmt.Sprintf("replace %s, which another CA has signed, before then with one of the same key, and restart", certs.ExpiringCA)
	}
	return fmt.Sprintf("the certificates of this control plane expire at %s, and no client can connect from then on: %s",
		certs.Expires.UTC().Format(time.RFC3339), advice)
}
