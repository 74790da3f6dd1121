package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// certIssuer signs a serving certificate for each connection, so that an API server
// that verifies kubelets with the cluster's CA can verify simulated ones, too.
type certIssuer struct {
	ca  tls.Certificate
	key *ecdsa.PrivateKey
}

func newCertIssuer(certFile, keyFile string) (*certIssuer, error) {
	ca, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the CA of the cluster: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &certIssuer{ca: ca, key: key}, nil
}

// issueCertificate is a tls.Config.GetCertificate.
func (i *certIssuer) issueCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	to := hello.Conn.(*pipeConn).target
	now := time.Now()
	template := &x509.Certificate{
		// The user name of a kubelet.
		Subject:               pkix.Name{CommonName: "system:node:" + to.nodes[0], Organization: []string{"system:nodes"}},
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              now.Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(to.host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{to.host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.ca.Leaf, i.key.Public(), i.ca.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of node %s: %w", to.nodes[0], err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}, nil
}
