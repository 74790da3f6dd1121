// Package pki maintains the certificates and keys of a control plane as files in
// one folder, under the names that kubeadm uses.
//
// It creates files that are missing, renews certificates that expire soon, and
// refuses files that do not match each other. It never overwrites a valid file that a
// user has provided. All keys that it creates are ECDSA P-256. Renewing a CA keeps its
// key, so the certificates that it has signed stay valid.
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
	// caValidity is how long a certificate authority is valid, as kubeadm's.
	caValidity = 10 * 365 * 24 * time.Hour
	// leafValidity is how long any other certificate is valid, as kubeadm's.
	leafValidity = 365 * 24 * time.Hour
	// maxLeafSpan is the longest time from the first to the last moment of a certificate that was renewed: the systems
	// of Apple refuse those of servers that are valid for more than 825 days. It is exceeded if an earlier start had a
	// clock that was ahead of this one by more than maxLeafSpan - leafValidity.
	maxLeafSpan = 800 * 24 * time.Hour
	// renewCABefore is how long before its expiry a certificate authority is renewed. Certificates
	// are renewed at a start only, so a control plane has to be restarted at least once in this time.
	renewCABefore = 30 * 24 * time.Hour
	// renewLeafBefore is the same for any other certificate: a control plane may run for as long
	// without a restart, whenever its last start was.
	renewLeafBefore = leafValidity / 2
	// backdate is how far the clocks of clients may be behind.
	backdate = 5 * time.Minute
)

// Config describes the certificates that are needed.
type Config struct {
	// Dir is the folder of the files. If it does not exist it is created with mode
	// 0700; its parent must exist. The caller must keep other processes out of it.
	Dir string
	// DNSNames and IPs are the addresses of the API server, in addition to the names
	// of the Service "kubernetes" and the loopback addresses.
	DNSNames []string
	IPs      []net.IP
	// NoSync does not wait until the keys are on disk.
	NoSync bool

	now func() time.Time // nil = time.Now; for tests
}

// Bundle holds what the parts of a control plane need. The fields before CAPEM are file paths.
type Bundle struct {
	// The cluster's CA signs server certificates, client certificates and CSRs.
	CACert, CAKey           string
	ServingCert, ServingKey string
	// The front proxy is the role of the API server towards aggregated API servers.
	FrontProxyCACert                          string
	FrontProxyClientCert, FrontProxyClientKey string
	KubeletClientCert, KubeletClientKey       string
	// The key pair signs and verifies service account tokens.
	ServiceAccountKey, ServiceAccountPub string

	// CAPEM is the content of CACert.
	CAPEM []byte
	// The administrator is the user kubernetes-admin in the group system:masters.
	AdminCertPEM, AdminKeyPEM []byte
	// Expires is when the first of the certificates expires.
	Expires time.Time
	// ExpiringCA is the path of that certificate if no start renews it: another CA has signed it. Otherwise
	// it is empty.
	ExpiringCA string
}

// Ensure creates missing files, renews certificates that expire soon or lack a name,
// and returns an error for files that do not match each other. If it fails, it removes
// the files that it has created.
func Ensure(cfg Config) (*Bundle, error) {
	now := time.Now
	if cfg.now != nil {
		now = cfg.now
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

func (d *directory) ensureAll(cfg Config) (*Bundle, error) {
	if err := d.prepare(); err != nil {
		return nil, err
	}
	// Created before the CA, so that a CA without this key means that the key was
	// lost, not that an earlier start was interrupted.
	if err := d.ensureServiceAccountKey(); err != nil {
		return nil, err
	}
	ca, err := d.ensureCA("ca", "kubernetes")
	if err != nil {
		return nil, err
	}
	frontProxyCA, err := d.ensureCA("front-proxy-ca", "front-proxy-ca")
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
		if err := d.ensureLeaf(l, ca); err != nil {
			return nil, err
		}
	}
	frontProxyClient := newClientLeaf("front-proxy-client", "front-proxy-client", nil)
	if err := d.ensureLeaf(frontProxyClient, frontProxyCA); err != nil {
		return nil, err
	}
	if err := d.sync(); err != nil {
		return nil, err
	}
	return d.loadBundle()
}

func (d *directory) loadBundle() (*Bundle, error) {
	b := &Bundle{
		CACert:               d.filePath("ca.crt"),
		CAKey:                d.filePath("ca.key"),
		ServingCert:          d.filePath("apiserver.crt"),
		ServingKey:           d.filePath("apiserver.key"),
		FrontProxyCACert:     d.filePath("front-proxy-ca.crt"),
		FrontProxyClientCert: d.filePath("front-proxy-client.crt"),
		FrontProxyClientKey:  d.filePath("front-proxy-client.key"),
		KubeletClientCert:    d.filePath("apiserver-kubelet-client.crt"),
		KubeletClientKey:     d.filePath("apiserver-kubelet-client.key"),
		ServiceAccountKey:    d.filePath("sa.key"),
		ServiceAccountPub:    d.filePath("sa.pub"),
	}
	for name, content := range map[string]*[]byte{"ca.crt": &b.CAPEM, "admin.crt": &b.AdminCertPEM, "admin.key": &b.AdminKeyPEM} {
		data, err := d.readFile(name)
		if err != nil {
			return nil, err
		}
		*content = data
	}
	for _, name := range []string{"ca", "front-proxy-ca", "apiserver", "apiserver-kubelet-client", "admin", "front-proxy-client"} {
		cert, err := d.readCert(name)
		if err != nil {
			return nil, err
		}
		if !b.Expires.IsZero() && !cert.NotAfter.Before(b.Expires) {
			continue
		}
		b.Expires, b.ExpiringCA = cert.NotAfter, ""
		if cert.IsCA && !isSelfSigned(cert) {
			b.ExpiringCA = d.filePath(name + ".crt")
		}
	}
	return b, nil
}
