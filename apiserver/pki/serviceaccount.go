package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ensureServiceAccountKey sees to the key pair of service account tokens. A key
// that was lost is not replaced: every token in use would silently be void.
func (s *directory) ensureServiceAccountKey() error {
	key, err := s.readKey("sa")
	if err != nil {
		return err
	}
	if key == nil {
		for _, name := range []string{"ca.crt", "ca.key"} {
			data, err := s.readFile(name)
			if err != nil {
				return err
			}
			if data != nil {
				return fmt.Errorf("%s is missing, but %s is there: %s", s.filePath("sa.key"), name, s.repairAdvice("sa"))
			}
		}
		made, data, err := generateKey()
		if err != nil {
			return err
		}
		if err := s.writeFile("sa.key", data, true); err != nil {
			return err
		}
		return s.writePublicKey(made)
	}
	data, err := s.readFile("sa.pub")
	if err != nil {
		return err
	}
	if data == nil {
		return s.writePublicKey(key)
	}
	found, err := containsPublicKey(data, key.Public())
	if err != nil {
		return fmt.Errorf("%s cannot be used (%w): %s", s.filePath("sa.pub"), err, publicKeyAdvice)
	}
	if !found {
		return fmt.Errorf("%s does not belong to sa.key: %s", s.filePath("sa.pub"), publicKeyAdvice)
	}
	return nil
}

const publicKeyAdvice = "put back the right one, or remove it to have it derived from sa.key"

func (s *directory) writePublicKey(key crypto.Signer) error {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("%s: %w", s.filePath("sa.pub"), err)
	}
	return s.writeFile("sa.pub", pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: der}), false)
}

// containsPublicKey reports whether the key is among those of the file; others may be
// there to verify tokens that an earlier key signed.
func containsPublicKey(data []byte, key crypto.PublicKey) (bool, error) {
	some := false
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
		some = true
	}
	if !some {
		return false, errors.New("no PEM block in it is a public key")
	}
	return false, nil
}
