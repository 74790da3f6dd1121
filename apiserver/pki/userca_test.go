package pki

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

func newRSAKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A user may provide a CA with an RSA key and another name.
func TestKeepsUserProvidedCA(t *testing.T) {
	key, rootKey := newRSAKey(t), newRSAKey(t)
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "root"}}
	self := &x509.Certificate{Subject: pkix.Name{CommonName: "ours", Organization: []string{"us"}}}
	tests := map[string]struct {
		issuer    *x509.Certificate
		issuerKey *rsa.PrivateKey
		left      time.Duration
		renewed   bool
	}{
		"root":                       {self, key, caValidity, false},
		"root that expires soon":     {self, key, renewCABefore / 2, true},
		"intermediate":               {root, rootKey, caValidity, false},
		"intermediate, expires soon": {root, rootKey, renewCABefore / 2, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			template := &x509.Certificate{
				Subject: self.Subject, NotBefore: startTime(), NotAfter: startTime().Add(test.left), SubjectKeyId: []byte{1, 2, 3},
				IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
			}
			der, err := x509.CreateCertificate(rand.Reader, template, test.issuer, key.Public(), test.issuerKey)
			if err != nil {
				t.Fatal(err)
			}
			pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Dir: t.TempDir(), now: fixedClock(startTime())}
			writeTestFile(t, cfg, "ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
			writeTestFile(t, cfg, "ca.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
			writeTestFile(t, cfg, "sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
			before, old := readFiles(t, cfg.Dir), readCertFile(t, cfg, "ca")
			b := mustEnsure(t, cfg)
			if expiring := test.issuer == root && test.left < leafValidity; (b.ExpiringCA == b.CACert) != expiring || !expiring && b.ExpiringCA != "" {
				t.Errorf("the CA %q expires first, want %v", b.ExpiringCA, expiring)
			}
			after, ca := readFiles(t, cfg.Dir), readCertFile(t, cfg, "ca")
			if before["ca.key"] != after["ca.key"] || before["sa.key"] != after["sa.key"] {
				t.Error("a key was changed")
			}
			if renewed := before["ca.crt"] != after["ca.crt"]; renewed != test.renewed {
				t.Errorf("renewed %v, want %v", renewed, test.renewed)
			}
			if string(ca.RawSubject) != string(old.RawSubject) || string(ca.SubjectKeyId) != string(old.SubjectKeyId) {
				t.Errorf("the CA is now %v, key id %x", ca.Subject, ca.SubjectKeyId)
			}
			for _, by := range []*x509.Certificate{old, ca} {
				roots := x509.NewCertPool()
				roots.AddCert(by)
				if _, err := readCertFile(t, cfg, "admin").Verify(x509.VerifyOptions{Roots: roots, CurrentTime: startTime(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
					t.Error(err)
				}
			}
			if admin := readCertFile(t, cfg, "admin"); admin.NotAfter.After(ca.NotAfter) {
				t.Errorf("a leaf is valid until %v, its CA until %v", admin.NotAfter, ca.NotAfter)
			}
		})
	}
}

// The certificate of a CA that another one has signed cannot be renewed when the clock is behind it.
func TestRefusesIntermediateOfTheFuture(t *testing.T) {
	key, rootKey := newRSAKey(t), newRSAKey(t)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "ours"}, NotBefore: startTime().Add(time.Hour), NotAfter: startTime().Add(caValidity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{Subject: pkix.Name{CommonName: "root"}}, key.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	cfg := Config{Dir: t.TempDir(), now: fixedClock(startTime())}
	writeTestFile(t, cfg, "ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	writeTestFile(t, cfg, "ca.key", pkcs1)
	writeTestFile(t, cfg, "sa.key", pkcs1)
	_, err = Ensure(cfg)
	if want := "ca.crt is not valid before 2026-03-01T13:00:00Z, but the clock shows 2026-03-01T12:00:00Z: set the clock"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
