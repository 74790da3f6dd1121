package pki

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/keyutil"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

func write(t *testing.T, cfg Config, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(cfg.Dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, cfg Config, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(cfg.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func leafCerts() map[string]bool {
	return names("apiserver.crt", "apiserver-kubelet-client.crt", "admin.crt", "front-proxy-client.crt")
}

func TestRenewLeaves(t *testing.T) {
	tests := map[string]struct {
		issued, now time.Duration // after start, when the CAs were made
	}{
		"a month before the end": {0, LeafValidity - RenewBefore + time.Second},
		"expired":                {0, LeafValidity + 24*time.Hour},
		"the clock was set back": {LeafValidity, LeafValidity - 24*time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _ := fresh(t)
			cfg.Now = at(start().Add(test.issued))
			ensure(t, cfg)
			before := files(t, cfg.Dir)
			now := start().Add(test.now)
			cfg.Now = at(now)
			ensure(t, cfg)
			if diff := cmp.Diff(leafCerts(), changed(before, files(t, cfg.Dir))); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if cert := certOf(t, cfg, "admin"); !cert.NotAfter.Equal(now.Add(LeafValidity)) || now.Before(cert.NotBefore) {
				t.Errorf("valid from %v to %v", cert.NotBefore, cert.NotAfter)
			}
		})
	}
}

// A renewed CA vouches for what the old one signed, and the other way round.
func TestRenewCA(t *testing.T) {
	cfg, _ := fresh(t)
	end := start().Add(CAValidity)
	cfg.Now = at(end.Add(-RenewBefore - 10*24*time.Hour))
	ensure(t, cfg)
	oldCA, oldAdmin := certOf(t, cfg, "ca"), certOf(t, cfg, "admin")
	if !oldAdmin.NotAfter.Equal(end) {
		t.Errorf("a leaf is valid until %v, its CA until %v", oldAdmin.NotAfter, end)
	}

	before := files(t, cfg.Dir)
	now := end.Add(-RenewBefore + time.Second)
	cfg.Now = at(now)
	b := ensure(t, cfg)
	want := leafCerts()
	want["ca.crt"], want["front-proxy-ca.crt"] = true, true
	if diff := cmp.Diff(want, changed(before, files(t, cfg.Dir))); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	newCA, newAdmin := certOf(t, cfg, "ca"), certOf(t, cfg, "admin")
	if !newCA.NotAfter.Equal(now.Add(CAValidity)) || string(b.CAPEM) != string(mustRead(t, b.CACert)) {
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

func TestMendsWhatIsMissing(t *testing.T) {
	tests := map[string]struct {
		lost []string
		want map[string]bool
	}{
		"leaf certificate": {lost: []string{"admin.crt"}, want: names("admin.crt")},
		"leaf key":         {lost: []string{"admin.key"}, want: names("admin.crt", "admin.key")},
		"leaf":             {lost: []string{"apiserver.crt", "apiserver.key"}, want: names("apiserver.crt", "apiserver.key")},
		"CA certificate":   {lost: []string{"ca.crt"}, want: names("ca.crt")},
		"public key":       {lost: []string{"sa.pub"}, want: names()},
	}
	for name, test := range tests {
		for _, how := range []string{"missing", "empty"} {
			t.Run(name+" "+how, func(t *testing.T) {
				cfg, _ := fresh(t)
				before := files(t, cfg.Dir)
				for _, name := range test.lost {
					if how == "missing" {
						remove(t, cfg, name)
					} else {
						write(t, cfg, name, nil)
					}
				}
				ensure(t, cfg)
				after := files(t, cfg.Dir)
				if diff := cmp.Diff(test.want, changed(before, after)); diff != "" {
					t.Errorf("changed (-want +got):\n%s", diff)
				}
				ensure(t, cfg)
				if diff := changed(after, files(t, cfg.Dir)); len(diff) > 0 {
					t.Errorf("the next start changed %v", diff)
				}
			})
		}
	}
}

// A first start may die after any file; the next one goes on from there.
func TestInterruptedStart(t *testing.T) {
	order := []string{"sa.key", "sa.pub", "ca.key", "ca.crt", "front-proxy-ca.key", "front-proxy-ca.crt", "apiserver.key", "apiserver.crt",
		"apiserver-kubelet-client.key", "apiserver-kubelet-client.crt", "admin.key", "admin.crt", "front-proxy-client.key", "front-proxy-client.crt"}
	for done := range order {
		cfg, _ := fresh(t)
		remove(t, cfg, order[done:]...)
		write(t, cfg, durable.Prefix+"1", []byte("half"))
		before := files(t, cfg.Dir)
		ensure(t, cfg)
		after := files(t, cfg.Dir)
		want := names(append(order[done:], durable.Prefix+"1")...)
		if diff := cmp.Diff(want, changed(before, after)); diff != "" {
			t.Errorf("after %d files (-want +got):\n%s", done, diff)
		}
		if _, ok := after[durable.Prefix+"1"]; ok {
			t.Error("an unfinished file remains")
		}
	}
}

func TestTightens(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of unix")
	}
	cfg, b := fresh(t)
	paths := []string{cfg.Dir, b.CAKey, b.ServingKey, b.ServiceAccountKey}
	for _, path := range paths {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ensure(t, cfg)
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// A leaf of our CA that says something else than what is wanted.
func TestReissuesWhatDoesNotDescribe(t *testing.T) {
	for name, other := range map[string]leaf{
		"user":  clientLeaf("admin", "somebody", []string{"system:masters"}),
		"group": clientLeaf("admin", "kubernetes-admin", nil),
		"usage": {name: "admin", subject: clientLeaf("admin", "kubernetes-admin", []string{"system:masters"}).subject, usage: x509.ExtKeyUsageServerAuth},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _ := fresh(t)
			s, ca := storeOf(t, cfg)
			remove(t, cfg, "admin.crt")
			if err := s.ensureLeaf(other, ca); err != nil {
				t.Fatal(err)
			}
			before := files(t, cfg.Dir)
			ensure(t, cfg)
			if diff := cmp.Diff(names("admin.crt"), changed(before, files(t, cfg.Dir))); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if got := certOf(t, cfg, "admin"); got.Subject.CommonName != "kubernetes-admin" || !cmp.Equal(got.Subject.Organization, []string{"system:masters"}) || got.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth {
				t.Errorf("got %v for %v", got.Subject, got.ExtKeyUsage)
			}
		})
	}
}

// storeOf is the folder as Ensure works on it, and the cluster's CA.
func storeOf(t *testing.T, cfg Config) (*store, *authority) {
	t.Helper()
	s := &store{dir: cfg.Dir, now: cfg.Now()}
	ca, err := s.ensureCA("ca", "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	return s, ca
}

// A start may die after it replaced a lost key, before it wrote the certificate.
func TestInterruptedNewKey(t *testing.T) {
	cfg, _ := fresh(t)
	remove(t, cfg, "admin.key")
	s, _ := storeOf(t, cfg)
	if _, err := s.newLeafKey(leaf{name: "admin"}); err != nil {
		t.Fatal(err)
	}
	ensure(t, cfg)
}

func TestServiceAccountKeys(t *testing.T) {
	cfg, b := fresh(t)
	_, other := fresh(t)
	// Tokens of an earlier key are to be accepted.
	write(t, cfg, "sa.pub", append(mustRead(t, other.ServiceAccountPub), mustRead(t, b.ServiceAccountPub)...))
	before := files(t, cfg.Dir)
	ensure(t, cfg)
	if diff := changed(before, files(t, cfg.Dir)); len(diff) > 0 {
		t.Errorf("changed %v", diff)
	}
	// What the API server reads them with.
	if _, err := keyutil.PrivateKeyFromFile(b.ServiceAccountKey); err != nil {
		t.Error(err)
	}
	if keys, err := keyutil.PublicKeysFromFile(b.ServiceAccountPub); err != nil || len(keys) != 2 {
		t.Errorf("got %d keys, %v; want 2", len(keys), err)
	}
}
