package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// parseEndpoints returns the endpoints as URLs. All must have the same scheme, because
// an etcd client uses one for all.
func parseEndpoints(endpoints []string) ([]*url.URL, error) {
	urls := make([]*url.URL, 0, len(endpoints))
	for _, e := range endpoints {
		u, err := url.Parse(e)
		switch {
		case err != nil:
			return nil, usage.Errorf("endpoint %q is not a URL: use the form https://10.0.0.1:2379", e)
		case u.Scheme != "http" && u.Scheme != "https":
			return nil, usage.Errorf("endpoint %q does not begin with http:// or https://: use the form https://10.0.0.1:2379", e)
		case u.Hostname() == "" || u.Port() == "":
			return nil, usage.Errorf("endpoint %q has no host or no port: use the form https://10.0.0.1:2379", e)
		case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return nil, usage.Errorf("endpoint %q has more than a host and a port: use the form https://10.0.0.1:2379", e)
		case len(urls) > 0 && u.Scheme != urls[0].Scheme:
			return nil, usage.Errorf("endpoints %q and %q have different schemes: use http:// or https:// for all", endpoints[0], e)
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// loadTLS reads the TLS files of cfg. It returns nil for http.
func loadTLS(cfg Config, scheme string) (*tls.Config, error) {
	given := cfg.CAFile != "" || cfg.CertFile != "" || cfg.KeyFile != ""
	if scheme == "http" {
		if given {
			return nil, errors.New("TLS files are given, but the endpoints are http://: use https://, or omit the files")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w: use a readable PEM file", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s has no certificate: use a PEM file with one", cfg.CAFile)
		}
	}
	if cfg.CertFile == "" && cfg.KeyFile == "" {
		return c, nil
	}
	if cfg.CertFile == "" || cfg.KeyFile == "" {
		return nil, errors.New("a client certificate needs a certificate file and a key file: give both or neither")
	}
	pair, err := loadKeyPair(cfg.CertFile, cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func loadKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate file: %w: use a readable PEM file", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key file: %w: use a readable PEM file", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate file %s and key file %s do not match: %w: use the key of that certificate", certFile, keyFile, err)
	}
	return pair, nil
}
