package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// The addresses that are used if none is given.
const (
	loopbackAddress = "127.0.0.1:0"
	publicAddress   = "0.0.0.0:0"
)

// Listen says where a server listens.
type Listen struct {
	// Address is HOST:PORT, with an IP address or "localhost" as HOST. Empty means a free
	// port of 127.0.0.1 or, if Public is set, of all addresses.
	Address string
	// Public allows an address that can be reached from the network. The server then uses
	// TLS: with the certificate in CertFile and KeyFile, or with one that it creates.
	Public            bool
	CertFile, KeyFile string
}

// Validate returns a usage error if the fields do not fit together.
func (l Listen) Validate() error {
	_, err := l.resolve()
	return err
}

// resolve returns the address to listen on. Its errors are usage errors.
func (l Listen) resolve() (string, error) {
	address := l.Address
	switch {
	case address == "" && l.Public:
		address = publicAddress
	case address == "":
		address = loopbackAddress
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", usage.Errorf("address %q: %w: use HOST:PORT", address, err)
	}
	ip := net.ParseIP(host)
	if strings.EqualFold(host, "localhost") {
		ip = net.IPv4(127, 0, 0, 1)
	}
	switch {
	case ip == nil && host != "":
		return "", usage.Errorf("address %q: %q is not an IP address", address, host)
	case (ip == nil || !ip.IsLoopback()) && !l.Public:
		return "", usage.Errorf("address %q can be reached from the network: add --web-public, which serves the page with TLS, or use 127.0.0.1", address)
	case (l.CertFile == "") != (l.KeyFile == ""):
		return "", usage.Errorf("a certificate file and a key file need each other: use both or neither")
	case l.CertFile != "" && !l.Public:
		return "", usage.Errorf("a certificate needs --web-public: on a loopback address the page is served without TLS")
	}
	return address, nil
}

// certificate returns the certificate of a public server, nil for another one, and
// whether it was created for this run.
func (l Listen) certificate() (cert *tls.Certificate, created bool, err error) {
	switch {
	case !l.Public:
		return nil, false, nil
	case l.CertFile == "":
		cert, err = newCertificate()
		return cert, true, err
	}
	loaded, err := tls.LoadX509KeyPair(l.CertFile, l.KeyFile)
	if err != nil {
		return nil, false, fmt.Errorf("certificate of the page: %w", err)
	}
	return &loaded, false, nil
}

// newCertificate creates a certificate for the names and addresses of this machine.
func newCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "ctrlplane top --web"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 30),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: append(ownAddresses(), net.IPv4(127, 0, 0, 1), net.IPv6loopback),
	}
	if name, err := os.Hostname(); err == nil {
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// LinkAddress is the address in links to a server that listens on another one: on all addresses of this
// machine it can be reached by one of them.
func LinkAddress(listening *net.TCPAddr) string {
	ip := listening.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
		if own := ownAddresses(); len(own) > 0 {
			ip = own[0]
		}
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(listening.Port))
}

// ownAddresses are the addresses by which others can reach this machine, IPv4 first.
func ownAddresses() (found []net.IP) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var six []net.IP
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			found = append(found, n.IP)
		default:
			six = append(six, n.IP)
		}
	}
	return append(found, six...)
}

// fingerprint is the SHA-256 fingerprint of a certificate as browsers show it.
func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
