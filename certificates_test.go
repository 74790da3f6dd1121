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
		if len(warnings) != 1 || !strings.Contains(warnings[0], "expire at "+p.certs.Expires.UTC().Format(time.RFC3339)) || !strings.HasSuffix(warnings[0], ": restart it before then to renew them") {
			t.Errorf("warnings %q", warnings)
		}
	})
}

// A restart does not renew the certificate of a CA that another one has signed.
func TestWarnsBeforeAnIntermediateCAExpires(t *testing.T) {
	text := describeExpiry(&pki.Bundle{Expires: time.Unix(0, 0), ExpiringCA: "/pki/ca.crt"})
	if want := "expire at 1970-01-01T00:00:00Z, and no client can connect from then on: replace /pki/ca.crt, which another CA has signed, before then with one of the same key, and restart"; !strings.HasSuffix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}

// A control plane that closes does not wait until its certificates are looked at again.
func TestCloseEndsTheWatchOfCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newControlPlane(&Server{})
		p.certs = &pki.Bundle{Expires: time.Now().Add(2 * expiryNotice)}
		close(p.closing)
		began := time.Now()
		if p.watchCertificates(); time.Since(began) > 0 {
			t.Errorf("the watch ended after %v", time.Since(began))
		}
	})
}
