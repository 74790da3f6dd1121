// Package pki keeps the certificates and keys of a control plane as files in
// one folder, under the names that kubeadm gives them.
//
// What is missing is made, what expires soon is renewed, and what does not fit
// together is refused: nothing that somebody else put there is overwritten
// while it is valid. All keys made here are ECDSA P-256. Renewing keeps the
// key, so a renewed CA still vouches for what it signed before.
package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

const (
	// CAValidity and LeafValidity are those of kubeadm's certificates.
	CAValidity   = 10 * 365 * 24 * time.Hour
	LeafValidity = 365 * 24 * time.Hour
	// RenewBefore is how long before its end a certificate is renewed. That
	// happens at a start only, so a control plane has to be restarted once in
	// this time.
	RenewBefore = 30 * 24 * time.Hour
	// Backdate is how far clocks of clients may be behind.
	Backdate = 5 * time.Minute
)

// Config says which certificates are wanted.
type Config struct {
	// Dir is the folder that holds them; made 0700 if need be, in one that
	// exists. The caller sees to it that no other process works in it.
	Dir string
	// DNSNames and IPs are where clients reach the API server, besides the
	// in-cluster names of the Service "kubernetes" and the loopback.
	DNSNames []string
	IPs      []net.IP
	// NoSync leaves it to the system when the keys reach the disk.
	NoSync bool
	// Now tells the time; nil = time.Now.
	Now func() time.Time
}

// Bundle is where everything lies that the parts of a control plane need; all
// but the last three are file paths.
type Bundle struct {
	// The cluster's CA signs server and client certificates and CSRs.
	CACert, CAKey           string
	ServingCert, ServingKey string
	// The front proxy is the API server as the aggregated API servers see it.
	FrontProxyCACert                          string
	FrontProxyClientCert, FrontProxyClientKey string
	KubeletClientCert, KubeletClientKey       string
	// Service account tokens are signed and verified with these.
	ServiceAccountKey, ServiceAccountPub string

	// CAPEM is the content of CACert.
	CAPEM []byte
	// The administrator is kubernetes-admin of the group system:masters.
	AdminCertPEM, AdminKeyPEM []byte
}

// Ensure makes what is missing, renews what expires soon or does not cover the
// names wanted, and refuses what does not match. When it fails, no new file
// remains.
func Ensure(cfg Config) (*Bundle, error) {
	now := time.Now
	if cfg.Now != nil {
		now = cfg.Now
	}
	for _, ip := range cfg.IPs {
		if ip.To16() == nil {
			return nil, fmt.Errorf("pki: %v is not an IP address", []byte(ip))
		}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	s := &directory{path: dir, now: now(), syncFiles: !cfg.NoSync}
	b, err := s.ensureAll(cfg)
	if err != nil {
		s.removeCreated()
		return nil, fmt.Errorf("pki: %w", err)
	}
	return b, nil
}

func (s *directory) ensureAll(cfg Config) (*Bundle, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	// Before the CA: a CA without it means that it was lost, not that an
	// earlier start was interrupted.
	if err := s.ensureServiceAccountKey(); err != nil {
		return nil, err
	}
	ca, err := s.ensureCA("ca", "kubernetes")
	if err != nil {
		return nil, err
	}
	frontProxyCA, err := s.ensureCA("front-proxy-ca", "front-proxy-ca")
	if err != nil {
		return nil, err
	}
	masters := []string{"system:masters"}
	serving := leafSpec{
		name:    "apiserver",
		subject: pkix.Name{CommonName: "kube-apiserver"},
		usage:   x509.ExtKeyUsageServerAuth,
		dnsNames: append([]string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local", "localhost",
		}, cfg.DNSNames...),
		ips: append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, cfg.IPs...),
	}
	kubeletClient := newClientLeaf("apiserver-kubelet-client", "kube-apiserver-kubelet-client", masters)
	admin := newClientLeaf("admin", "kubernetes-admin", masters)
	for _, l := range []leafSpec{serving, kubeletClient, admin} {
		if err := s.ensureLeaf(l, ca); err != nil {
			return nil, err
		}
	}
	frontProxyClient := newClientLeaf("front-proxy-client", "front-proxy-client", nil)
	if err := s.ensureLeaf(frontProxyClient, frontProxyCA); err != nil {
		return nil, err
	}
	if err := s.sync(); err != nil {
		return nil, err
	}
	return s.loadBundle()
}

func (s *directory) loadBundle() (*Bundle, error) {
	b := &Bundle{
		CACert:               s.filePath("ca.crt"),
		CAKey:                s.filePath("ca.key"),
		ServingCert:          s.filePath("apiserver.crt"),
		ServingKey:           s.filePath("apiserver.key"),
		FrontProxyCACert:     s.filePath("front-proxy-ca.crt"),
		FrontProxyClientCert: s.filePath("front-proxy-client.crt"),
		FrontProxyClientKey:  s.filePath("front-proxy-client.key"),
		KubeletClientCert:    s.filePath("apiserver-kubelet-client.crt"),
		KubeletClientKey:     s.filePath("apiserver-kubelet-client.key"),
		ServiceAccountKey:    s.filePath("sa.key"),
		ServiceAccountPub:    s.filePath("sa.pub"),
	}
	for name, content := range map[string]*[]byte{"ca.crt": &b.CAPEM, "admin.crt": &b.AdminCertPEM, "admin.key": &b.AdminKeyPEM} {
		data, err := s.readFile(name)
		if err != nil {
			return nil, err
		}
		*content = data
	}
	return b, nil
}
