package ctrlplane

import (
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
)

const (
	// expiryNotice is how long before the first certificate expires a warning says so.
	expiryNotice = 14 * 24 * time.Hour
	// expiryInterval is how often to look: a timer stands still while the machine sleeps.
	expiryInterval = time.Hour
)

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
