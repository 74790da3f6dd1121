package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ensureServiceAccountKey creates the key pair of service account tokens if it does
// not exist. It does not replace a lost key, because that would silently invalidate
// every token in use.
func (d *directory) ensureServiceAccountKey() error {
	key, err := d.readKey("sa")
	if err != nil {
		return err
	}
	if key == nil {
		for _, name := range []string{"ca.crt", "ca.key"} {
			data, err := d.readFile(name)
			if err != nil {
				return err
			}
			if data != nil {
				return fmt.Errorf("%s is missing, but %s exists: %s", d.filePath("sa.key"), name, d.repairAdvice("sa"))
			}
		}
		made, data, err := generateKey()
		if err != nil {
			return err
		}
		if err := d.writeFile("sa.key", data, true); err != nil {
			return err
		}
		return d.writePublicKey(made)
	}
	data, err := d.readFile("sa.pub")
	if err != nil {
		return err
	}
	if data == nil {
		return d.writePublicKey(key)
	}
	found, err := containsPublicKey(data, key.Public())
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w: %s", d.filePath("sa.pub"), err, publicKeyAdvice)
	}
	if !found {
		return fmt.Errorf("%s does not match sa.key: %s", d.filePath("sa.pub"), publicKeyAdvice)
	}
	return nil
}

const publicKeyAdvice = "copy the original back, or remove it to derive it from sa.key"

func (d *directory) writePublicKey(key crypto.Signer) error {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("%s: %w", d.filePath("sa.pub"), err)
	}
	return d.writeFile("sa.pub", pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: der}), false)
}

// containsPublicKey reports whether the key is among those of the file. Other keys may
// verify tokens that an earlier key has signed.
func containsPublicKey(data []byte, key crypto.PublicKey) (bool, error) {
	found := false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != publicKeyBlock {
			continue
		}
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return false, err
		}
		if samePublicKey(key, public) {
			return true, nil
		}
		found = true
	}
	if !found {
		return false, errors.New("it has no public key in PEM format")
	}
	return false, nil
}
