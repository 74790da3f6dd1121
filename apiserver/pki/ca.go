package pki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"
)

// authority signs certificates.
type authority struct {
	name string // of its files, without suffix
	cert *x509.Certificate
	key  crypto.Signer
}

func (s *directory) ensureCA(name, commonName string) (*authority, error) {
	cert, err := s.readCert(name)
	if err != nil {
		return nil, err
	}
	key, err := s.readKey(name)
	if err != nil {
		return nil, err
	}
	if cert != nil && key == nil {
		return nil, fmt.Errorf("%s is missing, but %s.crt is there: %s", s.filePath(name+".key"), name, s.repairAdvice(name))
	}
	if key == nil {
		made, data, err := generateKey()
		if err != nil {
			return nil, err
		}
		if err := s.writeFile(name+".key", data, true); err != nil {
			return nil, err
		}
		key = made
	}
	ca := &authority{name: name, cert: cert, key: key}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	if cert != nil {
		if err := s.checkCA(ca); err != nil {
			return nil, err
		}
		// One that another CA signed can only be renewed by that one.
		if cert.NotAfter.Sub(s.now) >= RenewBefore || cert.CheckSignatureFrom(cert) != nil {
			return ca, nil
		}
		// The same subject and key: what it has signed stays valid.
		template.RawSubject, template.SubjectKeyId = cert.RawSubject, cert.SubjectKeyId
	}
	template.NotBefore, template.NotAfter = s.now.Add(-Backdate), s.now.Add(CAValidity)
	if ca.cert, err = s.issueCert(name+".crt", template, &authority{cert: template, key: key}, key.Public()); err != nil {
		return nil, err
	}
	return ca, nil
}

func (s *directory) checkCA(ca *authority) error {
	file := s.filePath(ca.name + ".crt")
	switch {
	case !samePublicKey(ca.cert.PublicKey, ca.key.Public()):
		return fmt.Errorf("%s does not belong to %s.key: %s", file, ca.name, s.repairAdvice(ca.name))
	case !ca.cert.IsCA || ca.cert.KeyUsage != 0 && ca.cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return fmt.Errorf("%s is no certificate of a CA: %s", file, s.repairAdvice(ca.name))
	case s.now.After(ca.cert.NotAfter):
		return fmt.Errorf("%s expired at %s, and every client knows it: remove the folder %s to have all certificates and keys made anew, or choose another --name", file, formatTime(ca.cert.NotAfter), s.path)
	case s.now.Before(ca.cert.NotBefore):
		return fmt.Errorf("%s is not valid before %s, and the clock says %s: set the clock", file, formatTime(ca.cert.NotBefore), formatTime(s.now))
	}
	return nil
}

// issueCert signs a certificate and writes it.
func (s *directory) issueCert(name string, template *x509.Certificate, ca *authority, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.filePath(name), err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s would not be readable: %w", s.filePath(name), err)
	}
	return cert, s.writeFile(name, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), false)
}

func (ca *authority) hasSigned(cert *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, ca.cert.RawSubject) && cert.CheckSignatureFrom(ca.cert) == nil
}

// repairAdvice says what to do about a file that is missing or wrong. The name is
// without suffix.
func (s *directory) repairAdvice(name string) string {
	switch name {
	case "ca", "front-proxy-ca", "sa":
		return fmt.Sprintf("put back the right one, or remove the folder %s to have all certificates and keys made anew", s.path)
	}
	return fmt.Sprintf("put back the right one, or remove %s.crt and %s.key to have them made anew", name, name)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
