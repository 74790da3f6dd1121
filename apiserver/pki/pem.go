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
)

const (
	certificateBlock  = "CERTIFICATE"
	publicKeyBlock    = "PUBLIC KEY"
	ecPrivateKeyBlock = "EC PRIVATE KEY"
)

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
	key, err := parseKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w: %s", d.filePath(name+".key"), err, d.repairAdvice(name))
	}
	return key, nil
}

func parseCert(data []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == certificateBlock {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("it has no certificate in PEM format")
}

func parseKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case ecPrivateKeyBlock:
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, fmt.Errorf("keys of type %T cannot sign", key)
	}
	return nil, errors.New("it has no unencrypted private key in PEM format")
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
	return key, pem.EncodeToMemory(&pem.Block{Type: ecPrivateKeyBlock, Bytes: der}), nil
}

func samePublicKey(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}
