package pki

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"
)

// leafSpec describes a certificate that is needed.
type leafSpec struct {
	name     string // of its files, without extension
	subject  pkix.Name
	usage    x509.ExtKeyUsage
	dnsNames []string
	ips      []net.IP
}

func newClientLeaf(name, user string, groups []string) leafSpec {
	return leafSpec{
		name:    name,
		subject: pkix.Name{CommonName: user, Organization: groups},
		usage:   x509.ExtKeyUsageClientAuth,
	}
}

func (d *directory) ensureLeaf(l leafSpec, ca *authority) error {
	cert, err := d.readCert(l.name)
	if err != nil {
		return err
	}
	key, err := d.readKey(l.name)
	if err != nil {
		return err
	}
	if key == nil {
		if key, err = d.newLeafKey(l); err != nil {
			return err
		}
		cert = nil
	}
	if cert != nil {
		if !samePublicKey(cert.PublicKey, key.Public()) {
			return fmt.Errorf("%s does not match %s.key: %s", d.filePath(l.name+".crt"), l.name, d.repairAdvice(l.name))
		}
		if !ca.hasSigned(cert) {
			return fmt.Errorf("%s is not signed by %s.crt: %s", d.filePath(l.name+".crt"), ca.name, d.repairAdvice(l.name))
		}
	}
	notBefore, notAfter := d.now.Add(-backdate), d.now.Add(leafValidity)
	if cert != nil { // see ensureCA
		notBefore, notAfter = earlierTime(notBefore, cert.NotBefore), laterTime(notAfter, cert.NotAfter)
	}
	notAfter = earlierTime(notAfter, ca.cert.NotAfter)
	// The time of now is always included, also if that makes it longer than maxLeafSpan: it is perhaps the right one.
	notBefore = laterTime(notBefore, earlierTime(notAfter.Add(-maxLeafSpan), d.now.Add(-backdate)))
	if cert != nil && l.matches(cert) && !d.now.Before(cert.NotBefore) && (cert.NotAfter.Sub(d.now) >= renewLeafBefore || !notAfter.After(cert.NotAfter)) {
		return nil
	}
	_, err = d.issueCert(l.name+".crt", &x509.Certificate{
		Subject:               l.subject,
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{l.usage},
		BasicConstraintsValid: true,
		DNSNames:              l.dnsNames,
		IPAddresses:           l.ips,
	}, ca, key.Public())
	return err
}

// newLeafKey writes a new key. It first removes a certificate of the old key: a crash
// between writing the key and the certificate would leave a pair that does not match.
func (d *directory) newLeafKey(l leafSpec) (crypto.Signer, error) {
	if err := os.Remove(d.filePath(l.name + ".crt")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, withAdvice(err)
	}
	key, data, err := generateKey()
	if err != nil {
		return nil, err
	}
	return key, d.writeFile(l.name+".key", data, false)
}

// matches reports whether a certificate has the subject, usage and names that are
// needed. It may have more names.
func (l leafSpec) matches(cert *x509.Certificate) bool {
	for _, name := range l.dnsNames {
		if !slices.Contains(cert.DNSNames, name) {
			return false
		}
	}
	for _, ip := range l.ips {
		if !slices.ContainsFunc(cert.IPAddresses, ip.Equal) {
			return false
		}
	}
	return cert.Subject.CommonName == l.subject.CommonName &&
		slices.Equal(cert.Subject.Organization, l.subject.Organization) &&
		slices.Contains(cert.ExtKeyUsage, l.usage)
}

func laterTime(a, b time.Time) time.Time {
	return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare)
}

func earlierTime(a, b time.Time) time.Time {
	return slices.MinFunc([]time.Time{a, b}, time.Time.Compare)
}
