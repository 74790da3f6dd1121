package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	"k8s.io/client-go/util/keyutil"
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
	known, err := keyutil.ParsePublicKeysPEM(data)
	if err != nil {
		return fmt.Errorf("%s cannot be used: it has no public key in PEM format: %s", d.filePath("sa.pub"), publicKeyAdvice)
	}
	// Other keys may verify tokens that an earlier key has signed.
	if !slices.ContainsFunc(known, func(k any) bool { return samePublicKey(key.Public(), k) }) {
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
	return d.writeFile("sa.pub", pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), false)
}
