package ctrlplane

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A control plane that runs for long says once that its certificates expire.
func TestWarnsBeforeCertificatesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warnings []string
		p := newControlPlane(&Server{OnWarning: func(msg string) { warnings = append(warnings, msg) }})
		p.observer = observe.New(observe.Options{})
		defer p.observer.Close()
		p.certs = &pki.Bundle{Expires: time.Now().Add(expiryNotice + 3*expiryInterval)}
		p.watcher.Go(p.watchCertificates)
		time.Sleep(2*expiryInterval + time.Minute)
		synctest.Wait()
		if len(warnings) > 0 {
			t.Errorf("warned early: %q", warnings)
		}
		time.Sleep(24 * time.Hour)
		p.watcher.Wait()
		if len(warnings) != 1 || !strings.Contains(warnings[0], "expire at "+p.certs.Expires.UTC().Format(time.RFC3339)) {
			t.Errorf("warnings %q", warnings)
		}
	})
}

// A control plane that closes does not wait for that.
func TestCloseEndsTheWatchOfCertificates(t *testing.T) {
	p := newControlPlane(&Server{})
	p.certs = &pki.Bundle{Expires: time.Now().Add(2 * expiryNotice)}
	close(p.closing)
	p.watchCertificates()
}
