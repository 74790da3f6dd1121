package scrape

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainNetworkError turns the error of a request without an answer into one that
// says what to do.
func explainNetworkError(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		op      *net.OpError
		dns     *net.DNSError
		wrapped *url.Error // its text repeats the URL
	)
	switch {
	case neterror.IsRefused(err):
		return errors.New("connection refused: start the process or correct the address")
	case errors.As(err, &dns):
		return fmt.Errorf("the host cannot be resolved (%s): correct the address", foreignText(dns.Err))
	case errors.As(err, &unknown):
		return errors.New("the server certificate is signed by an unknown authority: set --ca-file to the authority's certificate, or skip the check with --insecure-skip-tls-verify")
	case errors.As(err, &name):
		return fmt.Errorf("the server certificate is for another host: use one of its names in the address, or skip the check with --insecure-skip-tls-verify: %s", foreignText(name.Error()))
	case errors.As(err, &invalid):
		return fmt.Errorf("the server certificate is not valid: renew it, or skip the check with --insecure-skip-tls-verify: %s", foreignText(invalid.Error()))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("the server does not use TLS: use http:// instead of https:// in the address")
	case errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("the server rejected the TLS handshake (%s): set --cert-file and --key-file to a client certificate that it accepts", foreignText(op.Err.Error()))
	case errors.As(err, &wrapped):
		err = wrapped.Err
	}
	return fmt.Errorf("%s: check that the address is that of the process", foreignText(err.Error()))
}

// explainStatus turns an answer other than 200 into an error that says what to do.
func (s *Source) explainStatus(resp *http.Response, body []byte, token bool) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && !token && !s.hasClientCert:
		return fmt.Errorf("the server requires authentication (%s): set --token-file, or --cert-file and --key-file", status)
	case code == http.StatusUnauthorized && token:
		return fmt.Errorf("the server does not accept the token (%s): set --token-file to a valid one", status)
	case code == http.StatusUnauthorized:
		return fmt.Errorf("the server does not accept the client certificate (%s): set --cert-file and --key-file to another one, or use --token-file", status)
	case code == http.StatusForbidden:
		return fmt.Errorf("the user may not read metrics (%s): allow \"get\" on the nonResourceURL %s, or use another identity with --token-file, or --cert-file and --key-file", status, s.url.Path)
	case code == http.StatusNotFound:
		return fmt.Errorf("no metrics at %s (%s): correct the path of the address", s.url.Path, status)
	case code >= 300 && code < 400:
		return fmt.Errorf("the server redirects to %q (%s): use that address if you trust it", foreignText(resp.Header.Get("Location")), status)
	case strings.Contains(string(body), "HTTP request to an HTTPS server"):
		return errors.New("the server requires TLS: use https:// instead of http:// in the address")
	}
	return fmt.Errorf("the server answers %s%s: check that the address is that of a metrics endpoint", status, quoteStart(body))
}

// quoteStart returns the beginning of an answer in a form to append to a message.
func quoteStart(body []byte) string {
	text := beginning(string(body), 80)
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", text)
}

// foreignText returns a text that a process has sent, or an error that repeats one, for a message.
func foreignText(text string) string { return beginning(text, 300) }

// beginning returns at most so many characters of a text, in one line.
func beginning(text string, enough int) string {
	cut := []rune(words.OneLine(text[:min(len(text), 4*enough)]))
	if len(cut) > enough {
		cut = append(cut[:enough], '…')
	}
	return string(cut)
}
