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
	name string // of its files, without extension
	cert *x509.Certificate
	key  crypto.Signer
}

func (d *directory) ensureCA(name, commonName string) (*authority, error) {
	cert, err := d.readCert(name)
	if err != nil {
		return nil, err
	}
	key, err := d.readKey(name)
	if err != nil {
		return nil, err
	}
	if cert != nil && key == nil {
		return nil, fmt.Errorf("%s is missing, but %s.crt exists: %s", d.filePath(name+".key"), name, d.repairAdvice(name))
	}
	if key == nil {
		made, data, err := generateKey()
		if err != nil {
			return nil, err
		}
		if err := d.writeFile(name+".key", data, true); err != nil {
			return nil, err
		}
		key = made
	}
	ca := &authority{name: name, cert: cert, key: key}
	template := &x509.Certificate{
		NotBefore:             d.now.Add(-backdate),
		NotAfter:              d.now.Add(caValidity),
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	if cert != nil {
		if err := d.checkCA(ca); err != nil {
			return nil, err
		}
		if cert.NotAfter.Sub(d.now) >= renewCABefore && !d.now.Before(cert.NotBefore) || !isSelfSigned(cert) {
			return ca, nil
		}
		// The subject and the key stay, so that what the CA has signed stays valid.
		template.RawSubject, template.SubjectKeyId = cert.RawSubject, cert.SubjectKeyId
		// If the clock of one of the starts was wrong, it is perhaps that of now, which may be set soon.
		template.NotBefore, template.NotAfter = earlierTime(template.NotBefore, cert.NotBefore), laterTime(template.NotAfter, cert.NotAfter)
	}
	if ca.cert, err = d.issueCert(name+".crt", template, &authority{cert: template, key: key}, key.Public()); err != nil {
		return nil, err
	}
	return ca, nil
}

func (d *directory) checkCA(ca *authority) error {
	file := d.filePath(ca.name + ".crt")
	switch {
	case !samePublicKey(ca.cert.PublicKey, ca.key.Public()):
		return fmt.Errorf("%s does not match %s.key: %s", file, ca.name, d.repairAdvice(ca.name))
	case !ca.cert.IsCA || ca.cert.KeyUsage != 0 && ca.cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return fmt.Errorf("%s is not a CA certificate: %s", file, d.repairAdvice(ca.name))
	case d.now.After(ca.cert.NotAfter):
		return fmt.Errorf("%s expired at %s, and clients trust no other CA: remove the folder %s to create all certificates and keys again, or choose another --name", file, formatTime(ca.cert.NotAfter), d.path)
	case d.now.Before(ca.cert.NotBefore) && !isSelfSigned(ca.cert):
		return fmt.Errorf("%s is not valid before %s, but the clock shows %s: set the clock", file, formatTime(ca.cert.NotBefore), formatTime(d.now))
	}
	return nil
}

// isSelfSigned reports whether a CA can renew its certificate: one that another CA has signed
// cannot be renewed here.
func isSelfSigned(cert *x509.Certificate) bool { return cert.CheckSignatureFrom(cert) == nil }

// issueCert signs a certificate and writes it to a file.
func (d *directory) issueCert(name string, template *x509.Certificate, ca *authority, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.filePath(name), err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%s: parse the new certificate: %w", d.filePath(name), err)
	}
	return cert, d.writeFile(name, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), false)
}

func (ca *authority) hasSigned(cert *x509.Certificate) bool {
	return bytes.Equal(cert.RawIssuer, ca.cert.RawSubject) && cert.CheckSignatureFrom(ca.cert) == nil
}

// repairAdvice returns what to do about a file that is missing or wrong. The name has
// no extension.
func (d *directory) repairAdvice(name string) string {
	switch name {
	case "ca", "front-proxy-ca", "sa":
		return fmt.Sprintf("copy the original back, or remove the folder %s to create all certificates and keys again", d.path)
	}
	return fmt.Sprintf("copy the original back, or remove %s.crt and %s.key to create them again", name, name)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
