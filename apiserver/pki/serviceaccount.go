package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ensureServiceAccount sees to the key pair of service account tokens. A key
// that was lost is not replaced: every token in use would silently be void.
func (s *store) ensureServiceAccount() error {
	key, err := s.readKey("sa")
	if err != nil {
		return err
	}
	if key == nil {
		for _, name := range []string{"ca.crt", "ca.key"} {
			data, err := s.read(name)
			if err != nil {
				return err
			}
			if data != nil {
				return fmt.Errorf("%s is missing, but %s is there: %s", s.path("sa.key"), name, s.putBack("sa"))
			}
		}
		made, data, err := newKey()
		if err != nil {
			return err
		}
		if err := s.write("sa.key", data, true); err != nil {
			return err
		}
		return s.writePublic(made)
	}
	data, err := s.read("sa.pub")
	if err != nil {
		return err
	}
	if data == nil {
		return s.writePublic(key)
	}
	found, err := holdsPublic(data, key.Public())
	if err != nil {
		return fmt.Errorf("%s cannot be used (%w): %s", s.path("sa.pub"), err, removePublic)
	}
	if !found {
		return fmt.Errorf("%s does not belong to sa.key: %s", s.path("sa.pub"), removePublic)
	}
	return nil
}

const removePublic = "put back the right one, or remove it to have it derived from sa.key"

func (s *store) writePublic(key crypto.Signer) error {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("%s: %w", s.path("sa.pub"), err)
	}
	return s.write("sa.pub", pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: der}), false)
}

// holdsPublic reports whether the key is among those of the file; others may be
// there to verify tokens that an earlier key signed.
func holdsPublic(data []byte, key crypto.PublicKey) (bool, error) {
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
