package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// startTime is a whole second, like the times in certificates.
func startTime() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func fixedClock(now time.Time) func() time.Time { return func() time.Time { return now } }

func mustEnsure(t *testing.T, cfg Config) *Bundle {
	t.Helper()
	b, err := Ensure(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newPKI creates all certificates at startTime.
func newPKI(t *testing.T) (Config, *Bundle) {
	t.Helper()
	cfg := Config{Dir: filepath.Join(t.TempDir(), "pki"), now: fixedClock(startTime()), NoSync: true}
	return cfg, mustEnsure(t, cfg)
}

// readFiles returns the mode and content of each file of a folder, by name.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data := testutil.ReadFile(t, filepath.Join(dir, e.Name()))
		found[e.Name()] = info.Mode().String() + " " + data
	}
	return found
}

// changedFiles returns the names of the files that differ.
func changedFiles(before, after map[string]string) map[string]bool {
	names := map[string]bool{}
	for name := range before {
		if after[name] != before[name] {
			names[name] = true
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names[name] = true
		}
	}
	return names
}

func nameSet(list ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range list {
		set[name] = true
	}
	return set
}

func readCertFile(t *testing.T, cfg Config, name string) *x509.Certificate {
	t.Helper()
	cert, err := parseCert(mustReadFile(t, filepath.Join(cfg.Dir, name+".crt")))
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func mustReadFile(t *testing.T, path string) []byte {
	t.Helper()
	return []byte(testutil.ReadFile(t, path))
}

func TestEnsureCreatesAllFiles(t *testing.T) {
	cfg, b := newPKI(t)
	want := nameSet("ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key", "sa.pub",
		"apiserver.crt", "apiserver.key", "apiserver-kubelet-client.crt", "apiserver-kubelet-client.key",
		"admin.crt", "admin.key", "front-proxy-client.crt", "front-proxy-client.key")
	got := readFiles(t, cfg.Dir)
	if diff := cmp.Diff(want, changedFiles(nil, got)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name, content := range got {
		if !strings.HasPrefix(content, fs.FileMode(0o600).String()) && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %.10s", name, content)
		}
	}
	if info, err := os.Stat(cfg.Dir); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
	for path, content := range map[string][]byte{
		b.CACert:                            b.CAPEM,
		filepath.Join(cfg.Dir, "admin.crt"): b.AdminCertPEM,
		filepath.Join(cfg.Dir, "admin.key"): b.AdminKeyPEM,
	} {
		if !bytes.Equal(mustReadFile(t, path), content) {
			t.Errorf("%s is not what the bundle holds", path)
		}
	}
	for _, path := range []string{b.CACert, b.CAKey, b.ServingCert, b.ServingKey, b.FrontProxyCACert, b.FrontProxyClientCert,
		b.FrontProxyClientKey, b.KubeletClientCert, b.KubeletClientKey, b.ServiceAccountKey, b.ServiceAccountPub} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestEnsureKeepsValidFiles(t *testing.T) {
	cfg, _ := newPKI(t)
	before := readFiles(t, cfg.Dir)
	for name, after := range map[string]time.Duration{"at once": 0, "until half a year before the end": leafValidity - renewLeafBefore, "with a clock a little behind": -backdate} {
		cfg.now = fixedClock(startTime().Add(after))
		mustEnsure(t, cfg)
		if diff := changedFiles(before, readFiles(t, cfg.Dir)); len(diff) > 0 {
			t.Errorf("%s: changed %v", name, diff)
		}
	}
}

func TestCertificateContents(t *testing.T) {
	cfg, _ := newPKI(t)
	tests := map[string]struct {
		ca, commonName string
		groups         []string
		usage          x509.ExtKeyUsage
	}{
		"apiserver":                {"ca", "kube-apiserver", nil, x509.ExtKeyUsageServerAuth},
		"apiserver-kubelet-client": {"ca", "kube-apiserver-kubelet-client", []string{"system:masters"}, x509.ExtKeyUsageClientAuth},
		"admin":                    {"ca", "kubernetes-admin", []string{"system:masters"}, x509.ExtKeyUsageClientAuth},
		"front-proxy-client":       {"front-proxy-ca", "front-proxy-client", nil, x509.ExtKeyUsageClientAuth},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := tls.LoadX509KeyPair(filepath.Join(cfg.Dir, name+".crt"), filepath.Join(cfg.Dir, name+".key")); err != nil {
				t.Error(err)
			}
			cert := readCertFile(t, cfg, name)
			roots := x509.NewCertPool()
			roots.AddCert(readCertFile(t, cfg, test.ca))
			for _, when := range []time.Time{startTime().Add(-backdate), startTime(), startTime().Add(leafValidity)} {
				if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: when, KeyUsages: []x509.ExtKeyUsage{test.usage}}); err != nil {
					t.Errorf("at %v: %v", when, err)
				}
			}
			other := x509.ExtKeyUsageServerAuth + x509.ExtKeyUsageClientAuth - test.usage
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: startTime(), KeyUsages: []x509.ExtKeyUsage{other}}); err == nil {
				t.Error("it is valid for both clients and servers")
			}
			if cert.Subject.CommonName != test.commonName || !cmp.Equal(cert.Subject.Organization, test.groups) || cert.IsCA {
				t.Errorf("got %v, CA %v", cert.Subject, cert.IsCA)
			}
			if got := cert.NotAfter.Sub(startTime()); got != leafValidity {
				t.Errorf("valid for %v", got)
			}
		})
	}
	for _, name := range []string{"ca", "front-proxy-ca"} {
		if ca := readCertFile(t, cfg, name); !ca.IsCA || ca.NotAfter.Sub(startTime()) != caValidity || ca.CheckSignatureFrom(ca) != nil {
			t.Errorf("%s: %+v", name, ca)
		}
	}
}

func TestServingCertificateCoversNames(t *testing.T) {
	cfg, _ := newPKI(t)
	before := readFiles(t, cfg.Dir)
	covers := func(hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			if err := readCertFile(t, cfg, "apiserver").VerifyHostname(host); err != nil {
				t.Error(err)
			}
		}
	}
	always := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost", "127.0.0.1", "::1"}
	covers(always...)

	cfg.DNSNames, cfg.IPs = []string{"dev.example.com"}, []net.IP{net.ParseIP("10.96.0.1"), net.ParseIP("fd00::1")}
	mustEnsure(t, cfg)
	covers(append(always, "dev.example.com", "10.96.0.1", "fd00::1")...)
	after := readFiles(t, cfg.Dir)
	if diff := cmp.Diff(nameSet("apiserver.crt"), changedFiles(before, after)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}

	cfg.IPs = cfg.IPs[1:]
	mustEnsure(t, cfg) // covered already
	if diff := changedFiles(after, readFiles(t, cfg.Dir)); len(diff) > 0 {
		t.Errorf("changed %v", diff)
	}
}

func TestServiceAccountKeyFormat(t *testing.T) {
	_, b := newPKI(t)
	private, _ := pem.Decode(mustReadFile(t, b.ServiceAccountKey))
	public, _ := pem.Decode(mustReadFile(t, b.ServiceAccountPub))
	if private.Type != "EC PRIVATE KEY" || public.Type != "PUBLIC KEY" {
		t.Errorf("types %s and %s are not what keyutil reads", private.Type, public.Type)
	}
	key, err := x509.ParseECPrivateKey(private.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := x509.ParsePKIXPublicKey(public.Bytes); err != nil || !key.PublicKey.Equal(got) || key.Params().BitSize != 256 {
		t.Errorf("got %v, %v; want the public half of %v", got, err, key)
	}
}

func BenchmarkEnsure(b *testing.B) {
	for _, noSync := range []bool{true, false} {
		b.Run(fmt.Sprintf("fresh,noSync=%v", noSync), func(b *testing.B) {
			parent := b.TempDir()
			i := 0
			for b.Loop() {
				i++
				if _, err := Ensure(Config{Dir: filepath.Join(parent, fmt.Sprint(i)), NoSync: noSync}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		cfg := Config{Dir: filepath.Join(b.TempDir(), "pki")}
		for b.Loop() {
			if _, err := Ensure(cfg); err != nil {
				b.Fatal(err)
			}
		}
	})
}
