package scrape

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

var discardLogger = log.New(io.Discard, "", 0)

// authority signs certificates for the tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.key, a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

func (a *authority) caFile() string { return writePEM(a.t, "CERTIFICATE", a.cert.Raw) }

// clientFiles returns the files of a client's certificate and key.
func (a *authority) clientFiles() (cert, key string) {
	k, c := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "observer"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return writePEM(a.t, "CERTIFICATE", c.Raw), writePEM(a.t, "PRIVATE KEY", der)
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	return writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// startServer serves metrics over TLS with a certificate that expires after a while.
func (a *authority) startServer(handler http.HandlerFunc, after time.Duration, clients bool, ips ...net.IP) string {
	key, cert := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, NotAfter: time.Now().Add(after), IPAddresses: ips, DNSNames: []string{"manager.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = discardLogger
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
	if clients {
		server.TLS.ClientAuth = tls.RequireAndVerifyClientCert
		server.TLS.ClientCAs = x509.NewCertPool()
		server.TLS.ClientCAs.AddCert(a.cert)
	}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	return server.URL
}

func TestTLS(t *testing.T) {
	a, loopback := newAuthority(t), net.IPv4(127, 0, 0, 1)
	ok := respondWith(200, "text/plain", metrics)
	cert, key := a.clientFiles()
	otherCert, otherKey := newAuthority(t).clientFiles()
	for _, tt := range []struct {
		name    string
		url     string
		options Options
		want    []string // nil = it works
	}{
		{"CA", a.startServer(ok, time.Hour, false, loopback), Options{CAFile: a.caFile()}, nil},
		{"insecure", a.startServer(ok, time.Hour, false), Options{Insecure: true}, nil},
		{"unknown authority", a.startServer(ok, time.Hour, false, loopback), Options{}, []string{"unknown authority", "--ca-file", "--insecure-skip-tls-verify"}},
		{"other authority", a.startServer(ok, time.Hour, false, loopback), Options{CAFile: newAuthority(t).caFile()}, []string{"unknown authority", "set --ca-file to the certificate of another one"}},
		{"other host", a.startServer(ok, time.Hour, false), Options{CAFile: a.caFile()}, []string{"another host", "address", "--insecure-skip-tls-verify"}},
		{"expired", a.startServer(ok, -time.Minute, false, loopback), Options{CAFile: a.caFile()}, []string{"not valid", "expired", "renew"}},
		{"client", a.startServer(ok, time.Hour, true, loopback), Options{CAFile: a.caFile(), CertFile: cert, KeyFile: key}, nil},
		{"no client", a.startServer(ok, time.Hour, true, loopback), Options{CAFile: a.caFile()}, []string{"--cert-file and --key-file"}},
		{"other client", a.startServer(ok, time.Hour, true, loopback), Options{CAFile: a.caFile(), CertFile: otherCert, KeyFile: otherKey}, []string{"--cert-file and --key-file"}},
		{"client not accepted", a.startServer(respondWith(401, "", ""), time.Hour, true, loopback), Options{CAFile: a.caFile(), CertFile: cert, KeyFile: key},
			[]string{"does not accept the client certificate", "--cert-file and --key-file", "--token-file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.URL = tt.url
			s, _ := newTestSource(t, tt.options)
			_, err := s.Snapshot(t.Context())
			if tt.want != nil {
				checkError(t, err, tt.want...)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
