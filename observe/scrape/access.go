package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// CheckAddress returns why an address is not one of metrics. The error has no password in it.
func CheckAddress(address string) error {
	_, err := parseURL(address)
	return err
}

// parseURL reads an address.
func parseURL(given string) (*url.URL, error) {
	if given == "" {
		return nil, errors.New("no address of metrics: use one such as http://127.0.0.1:8080/metrics")
	}
	named := fmt.Sprintf("address %q", redact(given))
	if !strings.Contains(given, "://") {
		return nil, fmt.Errorf("%s has no scheme: begin it with http:// or https://", named)
	}
	u, err := url.Parse(given)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok { // its text contains the whole URL, including a password
			err = e.Err
		}
		return nil, fmt.Errorf("%s is not a valid URL: %w: use one such as http://127.0.0.1:8080/metrics", named, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s begins with %s://: use http:// or https://", named, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("%s has no host: use a URL such as %s://127.0.0.1:8080/metrics", named, u.Scheme)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	u.Fragment = ""
	return u, nil
}

// redact replaces the user and the password of an address, which need not be a valid one.
func redact(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme := ""
	if end := strings.Index(address[:at], "://"); end >= 0 {
		scheme = address[:end+len("://")]
	}
	return scheme + "xxxxx" + address[at:]
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
