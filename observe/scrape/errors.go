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
	"syscall"
	"unicode"
)

// Windows has its own number for a refused connection.
const wsaConnRefused = syscall.Errno(10061)

// explainNetworkError says of an error without an answer what it means and what to do.
func explainNetworkError(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		op      *net.OpError
		dns     *net.DNSError
		wrapped *url.Error // its text repeats the address
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, wsaConnRefused):
		return errors.New("nothing listens there (connection refused): start the process, or give --metrics its address")
	case errors.As(err, &dns):
		return fmt.Errorf("the host cannot be found (%s): give --metrics one that can", oneLine(dns.Err))
	case errors.As(err, &unknown):
		return errors.New("its certificate is signed by an unknown authority: give that authority's certificate with --ca-file, or trust any with --insecure-skip-tls-verify")
	case errors.As(err, &name):
		return fmt.Errorf("its certificate is for another host: give --metrics a name that it has, or trust any with --insecure-skip-tls-verify: %s", oneLine(name.Error()))
	case errors.As(err, &invalid):
		return fmt.Errorf("its certificate is not valid: renew it, or trust any with --insecure-skip-tls-verify: %s", oneLine(invalid.Error()))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("it does not speak TLS: say http:// instead of https:// with --metrics")
	case errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("it ended the TLS handshake (%s): give a client certificate that it accepts with --cert-file and --key-file", oneLine(op.Err.Error()))
	case errors.As(err, &wrapped):
		err = wrapped.Err
	}
	return fmt.Errorf("%s: see that --metrics is the process's address", oneLine(err.Error()))
}

// explainStatus says of an answer other than 200 what it means and what to do.
func (s *Source) explainStatus(resp *http.Response, body []byte, token bool) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && !token && !s.hasClientCert:
		return fmt.Errorf("it does not answer just anyone (%s): say who asks with --token-file, or with --cert-file and --key-file", status)
	case code == http.StatusUnauthorized && token:
		return fmt.Errorf("it does not accept the token (%s): give one that is valid with --token-file", status)
	case code == http.StatusUnauthorized:
		return fmt.Errorf("it does not accept the client certificate (%s): give another with --cert-file and --key-file, or a token with --token-file", status)
	case code == http.StatusForbidden:
		return fmt.Errorf("it does not let this user see metrics (%s): allow \"get\" of the nonResourceURL %s, or give another token or client certificate with --token-file, or with --cert-file and --key-file", status, s.url.Path)
	case code == http.StatusNotFound:
		return fmt.Errorf("there is nothing at %s (%s): give --metrics the path where the metrics are", s.url.Path, status)
	case code >= 300 && code < 400:
		return fmt.Errorf("it redirects to %q (%s): give that address with --metrics if you trust it", oneLine(resp.Header.Get("Location")), status)
	case strings.Contains(string(body), "HTTP request to an HTTPS server"):
		return errors.New("it speaks TLS only: say https:// instead of http:// with --metrics")
	}
	return fmt.Errorf("it answers %s%s: see that --metrics is the address of metrics", status, quoteStart(body))
}

// quoteStart returns the beginning of an answer, to be added to a message.
func quoteStart(body []byte) string {
	const enough = 80
	text := []rune(oneLine(string(body[:min(len(body), 4*enough)])))
	if len(text) == 0 {
		return ""
	}
	if len(text) > enough {
		text = append(text[:enough], '…')
	}
	return fmt.Sprintf(" (%q)", string(text))
}

// oneLine makes text that came from elsewhere fit for a message.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}
