package scrape

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// parseURL reads an address, which a flag may have given.
func parseURL(given, flag string) (*url.URL, error) {
	flag = cmp.Or(flag, "--metrics")
	if given == "" {
		return nil, errors.New(fmt.Sprintf("no metrics address: set %[1]s, such as %[1]s http://127.0.0.1:8080/metrics", flag))
	}
	if !strings.Contains(given, "://") {
		return nil, fmt.Errorf("%s %q has no scheme: use %[1]s %[3]q", flag, given, "http://"+given)
	}
	u, err := url.Parse(given)
	if err != nil {
		var e *url.Error // its text contains the whole URL, including a password
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("%s is not a valid URL: %w: use one such as http://127.0.0.1:8080/metrics", flag, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s begins with %s://: use http:// or https://", flag, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%s %q has no host: use a URL such as %s://127.0.0.1:8080/metrics", flag, u.Redacted(), u.Scheme)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	u.Fragment = ""
	return u, nil
}

func tlsConfig(o Options) (*tls.Config, error) {
	if o.Insecure && o.CAFile != "" {
		return nil, errors.New("--insecure-skip-tls-verify and --ca-file exclude each other: remove one")
	}
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file %s has no certificate in PEM format: use the certificate of the certificate authority", o.CAFile)
		}
	}
	switch {
	case o.CertFile == "" && o.KeyFile == "":
		return config, nil
	case o.CertFile == "":
		return nil, errors.New("--key-file needs --cert-file: set both or neither")
	case o.KeyFile == "":
		return nil, errors.New("--cert-file needs --key-file: set both or neither")
	}
	cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--cert-file %s and --key-file %s cannot be loaded: %w", o.CertFile, o.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{cert}
	return config, nil
}

// bearerToken returns the token to send, or "".
func (s *Source) bearerToken() (string, error) {
	if s.tokenFile == "" {
		return s.token, nil
	}
	content, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("--token-file %s is empty: write a bearer token to it", s.tokenFile)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--token-file %s contains more than a bearer token: remove everything else", s.tokenFile)
	}
	return token, nil
}
