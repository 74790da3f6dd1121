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

func parseURL(given string) (*url.URL, error) {
	if given == "" {
		return nil, errors.New("no address of metrics: give one, such as --metrics http://127.0.0.1:8080/metrics")
	}
	if !strings.Contains(given, "://") {
		return nil, fmt.Errorf("--metrics %q has no http:// or https:// in front: say --metrics http://%s", given, given)
	}
	u, err := url.Parse(given)
	if err != nil {
		var e *url.Error // its text has all of the address, a password too
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("--metrics is no address: %w: give one such as http://127.0.0.1:8080/metrics", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--metrics begins with %s://: only http:// and https:// can be scraped", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("--metrics %q names no host: give one, such as %s://127.0.0.1:8080/metrics", u.Redacted(), u.Scheme)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	u.Fragment = ""
	return u, nil
}

func tlsConfig(o Options) (*tls.Config, error) {
	if o.Insecure && o.CAFile != "" {
		return nil, errors.New("--insecure-skip-tls-verify trusts anyone, --ca-file does not: leave one out")
	}
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file cannot be read: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file %s holds no certificate in PEM form: give the certificate of the authority", o.CAFile)
		}
	}
	switch {
	case o.CertFile == "" && o.KeyFile == "":
		return config, nil
	case o.CertFile == "":
		return nil, errors.New("--key-file needs --cert-file: give both, or neither")
	case o.KeyFile == "":
		return nil, errors.New("--cert-file needs --key-file: give both, or neither")
	}
	cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--cert-file %s and --key-file %s cannot be used: %w", o.CertFile, o.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{cert}
	return config, nil
}

// bearerToken returns the token to show, if there is one.
func (s *Source) bearerToken() (string, error) {
	if s.tokenFile == "" {
		return s.token, nil
	}
	content, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("--token-file %s is empty: it has to hold a bearer token", s.tokenFile)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--token-file %s holds more than a bearer token: it has to hold nothing else", s.tokenFile)
	}
	return token, nil
}
