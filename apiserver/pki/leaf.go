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

// leafSpec is a certificate that is wanted.
type leafSpec struct {
	name     string // of its files, without suffix
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

func (s *directory) ensureLeaf(l leafSpec, ca *authority) error {
	cert, err := s.readCert(l.name)
	if err != nil {
		return err
	}
	key, err := s.readKey(l.name)
	if err != nil {
		return err
	}
	if key == nil {
		if key, err = s.newLeafKey(l); err != nil {
			return err
		}
		cert = nil
	}
	if cert != nil {
		if !samePublicKey(cert.PublicKey, key.Public()) {
			return fmt.Errorf("%s does not belong to %s.key: %s", s.filePath(l.name+".crt"), l.name, s.repairAdvice(l.name))
		}
		if !ca.hasSigned(cert) {
			return fmt.Errorf("%s was not signed by %s.crt: %s", s.filePath(l.name+".crt"), ca.name, s.repairAdvice(l.name))
		}
		if l.matches(cert) && !s.now.Before(cert.NotBefore) && cert.NotAfter.Sub(s.now) >= RenewBefore {
			return nil
		}
	}
	_, err = s.issueCert(l.name+".crt", &x509.Certificate{
		Subject:               l.subject,
		NotBefore:             s.now.Add(-Backdate),
		NotAfter:              earlierTime(s.now.Add(LeafValidity), ca.cert.NotAfter),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{l.usage},
		BasicConstraintsValid: true,
		DNSNames:              l.dnsNames,
		IPAddresses:           l.ips,
	}, ca, key.Public())
	return err
}

// newLeafKey first removes a certificate that has lost its key: a crash between
// the writing of the two would leave a pair that does not match.
func (s *directory) newLeafKey(l leafSpec) (crypto.Signer, error) {
	if err := os.Remove(s.filePath(l.name + ".crt")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, withAdvice(err)
	}
	key, data, err := generateKey()
	if err != nil {
		return nil, err
	}
	return key, s.writeFile(l.name+".key", data, false)
}

// matches reports whether a certificate is for all that is wanted.
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

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
