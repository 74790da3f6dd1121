package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"k8s.io/client-go/util/keyutil"
)

const certificateBlock = "CERTIFICATE"

// readCert returns nil if there is no such file. The name has no extension.
func (d *directory) readCert(name string) (*x509.Certificate, error) {
	data, err := d.readFile(name + ".crt")
	if err != nil || data == nil {
		return nil, err
	}
	cert, err := parseCert(data)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w: %s", d.filePath(name+".crt"), err, d.repairAdvice(name))
	}
	return cert, nil
}

// readKey returns nil if there is no such file. The name has no extension.
func (d *directory) readKey(name string) (crypto.Signer, error) {
	data, err := d.readSecretFile(name + ".key")
	if err != nil || data == nil {
		return nil, err
	}
	key, err := keyutil.ParsePrivateKeyPEM(data)
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s cannot be used: it has no valid, unencrypted private key in PEM format: %s", d.filePath(name+".key"), d.repairAdvice(name))
	}
	return signer, nil
}

func parseCert(data []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == certificateBlock {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("it has no certificate in PEM format")
}

func generateKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: keyutil.ECPrivateKeyBlockType, Bytes: der}), nil
}

func samePublicKey(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}
