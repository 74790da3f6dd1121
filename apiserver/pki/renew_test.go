package pki

import (
	"crypto/x509"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/keyutil"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func writeTestFile(t *testing.T, cfg Config, name string, data []byte) {
	t.Helper()
	testutil.WriteFile(t, filepath.Join(cfg.Dir, name), data)
}

func removeFiles(t *testing.T, cfg Config, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(cfg.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func leafCertFiles() map[string]bool {
	return nameSet("apiserver.crt", "apiserver-kubelet-client.crt", "admin.crt", "front-proxy-client.crt")
}

func TestRenewsExpiringLeaves(t *testing.T) {
	tests := map[string]struct {
		issued, now time.Duration // after start, when the CAs were made
	}{
		"half a year before the end": {0, leafValidity - renewLeafBefore + time.Second},
		"expired":                    {0, leafValidity + 24*time.Hour},
		"the clock was set back":     {leafValidity, leafValidity - 24*time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _ := newPKI(t)
			removeFiles(t, cfg, slices.Collect(maps.Keys(leafCertFiles()))...)
			cfg.now = fixedClock(startTime().Add(test.issued))
			mustEnsure(t, cfg)
			before := readFiles(t, cfg.Dir)
			now := startTime().Add(test.now)
			cfg.now = fixedClock(now)
			mustEnsure(t, cfg)
			if diff := cmp.Diff(leafCertFiles(), changedFiles(before, readFiles(t, cfg.Dir))); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if cert := readCertFile(t, cfg, "admin"); !cert.NotAfter.Equal(startTime().Add(max(test.issued, test.now)+leafValidity)) || now.Before(cert.NotBefore) {
				t.Errorf("valid from %v to %v", cert.NotBefore, cert.NotAfter)
			}
		})
	}
}

// The old and the renewed CA verify certificates of each other.
func TestRenewedCAKeepsTrust(t *testing.T) {
	cfg, _ := newPKI(t)
	end := startTime().Add(caValidity)
	cfg.now = fixedClock(end.Add(-renewCABefore - 10*24*time.Hour))
	mustEnsure(t, cfg)
	oldCA, oldAdmin := readCertFile(t, cfg, "ca"), readCertFile(t, cfg, "admin")
	if !oldAdmin.NotAfter.Equal(end) {
		t.Errorf("a leaf is valid until %v, its CA until %v", oldAdmin.NotAfter, end)
	}

	before := readFiles(t, cfg.Dir)
	now := end.Add(-renewCABefore + time.Second)
	cfg.now = fixedClock(now)
	b := mustEnsure(t, cfg)
	want := leafCertFiles()
	want["ca.crt"], want["front-proxy-ca.crt"] = true, true
	if diff := cmp.Diff(want, changedFiles(before, readFiles(t, cfg.Dir))); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	newCA, newAdmin := readCertFile(t, cfg, "ca"), readCertFile(t, cfg, "admin")
	if !newCA.NotAfter.Equal(now.Add(caValidity)) || string(b.CAPEM) != testutil.ReadFile(t, b.CACert) {
		t.Errorf("the new CA is valid until %v", newCA.NotAfter)
	}
	for _, ca := range []*x509.Certificate{oldCA, newCA} {
		for _, leaf := range []*x509.Certificate{oldAdmin, newAdmin} {
			roots := x509.NewCertPool()
			roots.AddCert(ca)
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Error(err)
			}
		}
	}
}

// A first start may have had a clock that was ahead, or a later one a clock that is behind, and is
// set while the control plane runs: the files can be used with both clocks.
func TestRenewsWhatIsNotValidYet(t *testing.T) {
	cfg, _ := newPKI(t)
	cfg.now = fixedClock(startTime().Add(leafValidity)) // other leaves than those of the first start
	mustEnsure(t, cfg)
	right := startTime().Add(leafValidity + 24*time.Hour)
	before, ca := readFiles(t, cfg.Dir), readCertFile(t, cfg, "ca")
	for _, now := range []time.Time{startTime().Add(-50 * 365 * 24 * time.Hour), right} {
		cfg.now = fixedClock(now)
		b := mustEnsure(t, cfg)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(b.CAPEM)
		for _, clock := range []time.Time{now, right} {
			if _, err := readCertFile(t, cfg, "admin").Verify(x509.VerifyOptions{Roots: roots, CurrentTime: clock, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Errorf("started at %v, at %v: %v", now, clock, err)
			}
		}
	}
	want := leafCertFiles()
	want["ca.crt"], want["front-proxy-ca.crt"] = true, true
	if diff := cmp.Diff(want, changedFiles(before, readFiles(t, cfg.Dir))); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if renewed := readCertFile(t, cfg, "ca"); !renewed.NotAfter.Equal(ca.NotAfter) {
		t.Errorf("the CA is valid until %v, want %v", renewed.NotAfter, ca.NotAfter)
	}
}

// Apple refuses certificates of servers that are valid for more than 825 days.
func TestRepeatedRenewalsDoNotExtendTheValidity(t *testing.T) {
	cfg, _ := newPKI(t)
	now := startTime()
	for range 6 {
		now = now.Add(leafValidity - renewLeafBefore + time.Second)
		cfg.now = fixedClock(now)
		mustEnsure(t, cfg)
		for name := range leafCertFiles() {
			cert := readCertFile(t, cfg, strings.TrimSuffix(name, ".crt"))
			if span := cert.NotAfter.Sub(cert.NotBefore); span > maxLeafSpan || cert.NotBefore.After(now.Add(-backdate)) || !cert.NotAfter.Equal(now.Add(leafValidity)) {
				t.Errorf("%s, renewed at %v: valid from %v to %v, %v days", name, now, cert.NotBefore, cert.NotAfter, span.Hours()/24)
			}
		}
	}
}

// A start may have a clock that is ahead, and that is set while the control plane runs.
func TestRenewedByAClockThatIsAhead(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"leaves":             leafValidity - renewLeafBefore + time.Hour,
		"expired leaves":     leafValidity + time.Hour,
		"leaves of long ago": 2 * leafValidity,
		"authorities too":    caValidity - renewCABefore + time.Hour,
	} {
		cfg, _ := newPKI(t)
		old := readCertFile(t, cfg, "admin")
		cfg.now = fixedClock(startTime().Add(ahead))
		b := mustEnsure(t, cfg)
		admin, roots := readCertFile(t, cfg, "admin"), x509.NewCertPool()
		roots.AppendCertsFromPEM(b.CAPEM)
		if !admin.NotAfter.After(old.NotAfter) {
			t.Errorf("%s: not renewed, valid until %v", name, admin.NotAfter)
		}
		for _, clock := range []time.Time{startTime().Add(ahead), startTime()} {
			if ahead > maxLeafSpan-leafValidity { // another start repairs it
				cfg.now = fixedClock(clock)
				mustEnsure(t, cfg)
				admin = readCertFile(t, cfg, "admin")
			}
			if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: clock, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Errorf("%s, at %v: %v", name, clock, err)
			}
		}
	}
}

// The first certificate that expires is the one that counts.
func TestExpires(t *testing.T) {
	cfg, b := newPKI(t)
	if want := startTime().Add(leafValidity); !b.Expires.Equal(want) {
		t.Errorf("got %v, want %v", b.Expires, want)
	}
	cfg.now = fixedClock(startTime().Add(time.Hour))
	removeFiles(t, cfg, "admin.crt", "admin.key")
	if b := mustEnsure(t, cfg); !b.Expires.Equal(startTime().Add(leafValidity)) {
		t.Errorf("got %v, want that of the others", b.Expires)
	}
}

func TestRecreatesMissingFiles(t *testing.T) {
	tests := map[string]struct {
		lost []string
		want map[string]bool
	}{
		"leaf certificate": {lost: []string{"admin.crt"}, want: nameSet("admin.crt")},
		"leaf key":         {lost: []string{"admin.key"}, want: nameSet("admin.crt", "admin.key")},
		"leaf":             {lost: []string{"apiserver.crt", "apiserver.key"}, want: nameSet("apiserver.crt", "apiserver.key")},
		"CA certificate":   {lost: []string{"ca.crt"}, want: nameSet("ca.crt")},
		"public key":       {lost: []string{"sa.pub"}, want: nameSet()},
	}
	for name, test := range tests {
		for _, how := range []string{"missing", "empty"} {
			t.Run(name+" "+how, func(t *testing.T) {
				cfg, _ := newPKI(t)
				before := readFiles(t, cfg.Dir)
				for _, name := range test.lost {
					if how == "missing" {
						removeFiles(t, cfg, name)
					} else {
						writeTestFile(t, cfg, name, nil)
					}
				}
				mustEnsure(t, cfg)
				after := readFiles(t, cfg.Dir)
				if diff := cmp.Diff(test.want, changedFiles(before, after)); diff != "" {
					t.Errorf("changed (-want +got):\n%s", diff)
				}
				mustEnsure(t, cfg)
				if diff := changedFiles(after, readFiles(t, cfg.Dir)); len(diff) > 0 {
					t.Errorf("the next start changed %v", diff)
				}
			})
		}
	}
}

// A first start may be killed after any file. The next one creates the rest.
func TestResumesInterruptedStart(t *testing.T) {
	order := []string{"sa.key", "sa.pub", "ca.key", "ca.crt", "front-proxy-ca.key", "front-proxy-ca.crt", "apiserver.key", "apiserver.crt",
		"apiserver-kubelet-client.key", "apiserver-kubelet-client.crt", "admin.key", "admin.crt", "front-proxy-client.key", "front-proxy-client.crt"}
	for done := range order {
		cfg, _ := newPKI(t)
		removeFiles(t, cfg, order[done:]...)
		writeTestFile(t, cfg, durable.TempPrefix+"1", []byte("half"))
		before := readFiles(t, cfg.Dir)
		mustEnsure(t, cfg)
		after := readFiles(t, cfg.Dir)
		want := nameSet(append(order[done:], durable.TempPrefix+"1")...)
		if diff := cmp.Diff(want, changedFiles(before, after)); diff != "" {
			t.Errorf("after %d files (-want +got):\n%s", done, diff)
		}
		if _, ok := after[durable.TempPrefix+"1"]; ok {
			t.Error("an unfinished file remains")
		}
	}
}

func TestRestrictsFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of unix")
	}
	cfg, b := newPKI(t)
	paths := []string{cfg.Dir, b.CAKey, b.ServingKey, b.ServiceAccountKey}
	for _, path := range paths {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mustEnsure(t, cfg)
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// A leaf of the CA with another subject or usage than needed is replaced.
func TestReissuesLeafThatDoesNotMatch(t *testing.T) {
	for name, other := range map[string]leafSpec{
		"user":  newClientLeaf("admin", "other", []string{"system:masters"}),
		"group": newClientLeaf("admin", "kubernetes-admin", nil),
		"usage": {name: "admin", subject: newClientLeaf("admin", "kubernetes-admin", []string{"system:masters"}).subject, usage: x509.ExtKeyUsageServerAuth},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _ := newPKI(t)
			s, ca := openDirectory(t, cfg)
			removeFiles(t, cfg, "admin.crt")
			if err := s.ensureLeaf(other, ca); err != nil {
				t.Fatal(err)
			}
			before := readFiles(t, cfg.Dir)
			mustEnsure(t, cfg)
			if diff := cmp.Diff(nameSet("admin.crt"), changedFiles(before, readFiles(t, cfg.Dir))); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if got := readCertFile(t, cfg, "admin"); got.Subject.CommonName != "kubernetes-admin" || !cmp.Equal(got.Subject.Organization, []string{"system:masters"}) || got.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth {
				t.Errorf("got %v for %v", got.Subject, got.ExtKeyUsage)
			}
		})
	}
}

// openDirectory returns the folder as Ensure uses it, and the CA of the cluster.
func openDirectory(t *testing.T, cfg Config) (*directory, *authority) {
	t.Helper()
	s := &directory{path: cfg.Dir, now: cfg.now()}
	ca, err := s.ensureCA("ca", "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	return s, ca
}

// A start may be killed after it replaced a lost key, before it wrote the certificate.
func TestResumesInterruptedKeyReplacement(t *testing.T) {
	cfg, _ := newPKI(t)
	removeFiles(t, cfg, "admin.key")
	s, _ := openDirectory(t, cfg)
	if _, err := s.newLeafKey(leafSpec{name: "admin"}); err != nil {
		t.Fatal(err)
	}
	mustEnsure(t, cfg)
}

func TestKeepsAdditionalServiceAccountKeys(t *testing.T) {
	cfg, b := newPKI(t)
	_, other := newPKI(t)
	// Tokens that an earlier key has signed must be accepted.
	writeTestFile(t, cfg, "sa.pub", append(mustReadFile(t, other.ServiceAccountPub), mustReadFile(t, b.ServiceAccountPub)...))
	before := readFiles(t, cfg.Dir)
	mustEnsure(t, cfg)
	if diff := changedFiles(before, readFiles(t, cfg.Dir)); len(diff) > 0 {
		t.Errorf("changed %v", diff)
	}
	// The API server reads them with these functions.
	if _, err := keyutil.PrivateKeyFromFile(b.ServiceAccountKey); err != nil {
		t.Error(err)
	}
	if keys, err := keyutil.PublicKeysFromFile(b.ServiceAccountPub); err != nil || len(keys) != 2 {
		t.Errorf("got %d keys, %v; want 2", len(keys), err)
	}
}
