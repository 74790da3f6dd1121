package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// parseEndpoints returns the endpoints as URLs of one scheme, as an etcd client
// uses one for all.
func parseEndpoints(endpoints []string) ([]*url.URL, error) {
	urls := make([]*url.URL, 0, len(endpoints))
	for _, e := range endpoints {
		u, err := url.Parse(e)
		switch {
		case err != nil:
			return nil, fmt.Errorf("endpoint %q is not a URL: write it like https://10.0.0.1:2379", e)
		case u.Scheme != "http" && u.Scheme != "https":
			return nil, fmt.Errorf("endpoint %q does not begin with http:// or https://: write it like https://10.0.0.1:2379", e)
		case u.Hostname() == "" || u.Port() == "":
			return nil, fmt.Errorf("endpoint %q lacks a host or a port: write it like https://10.0.0.1:2379", e)
		case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return nil, fmt.Errorf("endpoint %q has more than a host and a port: write it like https://10.0.0.1:2379", e)
		case len(urls) > 0 && u.Scheme != urls[0].Scheme:
			return nil, fmt.Errorf("endpoints %q and %q differ in scheme: use http:// or https:// for all", endpoints[0], e)
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// loadTLS reads the TLS files of cfg and returns what to dial https with; nil
// for http.
func loadTLS(cfg Config, scheme string) (*tls.Config, error) {
	given := cfg.CAFile != "" || cfg.CertFile != "" || cfg.KeyFile != ""
	if scheme == "http" {
		if given {
			return nil, errors.New("TLS files were given but the endpoints are http://, which would not use them: write https:// or leave the files out")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w; name a readable PEM file", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no certificate; name a PEM file that does", cfg.CAFile)
		}
	}
	if cfg.CertFile == "" && cfg.KeyFile == "" {
		return c, nil
	}
	if cfg.CertFile == "" || cfg.KeyFile == "" {
		return nil, errors.New("a client certificate needs both its file and its key's: give both or neither")
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
		return tls.Certificate{}, fmt.Errorf("certificate file: %w; name a readable PEM file", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("key file: %w; name a readable PEM file", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate file %s and key file %s do not go together: %w; name a pair that does", certFile, keyFile, err)
	}
	return pair, nil
}
