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

// Reasons for which a process that was started a moment ago need not have metrics yet.
var (
	ErrRefused  = errors.New("connection refused")
	ErrNoQueues = errors.New("the process exposes no work queues (workqueue_*)")
)

// AccessError is an error that another option may avoid.
type AccessError struct {
	Reason string
	Advice string // names flags of "ctrlplane top"
	Detail string // may be empty
}

func (e *AccessError) Error() string {
	text := e.Reason + ": " + e.Advice
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// explainNetworkError turns the error of a request without an answer into one that
// says what to do.
func (s *Source) explainNetworkError(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		op      *net.OpError
		dns     *net.DNSError
		wrapped *url.Error // its text repeats the URL
	)
	const skip = ", or skip the check with --insecure-skip-tls-verify"
	switch {
	case neterror.IsRefused(err):
		return fmt.Errorf("%w: start the process or correct the address", ErrRefused)
	case errors.As(err, &dns):
		return fmt.Errorf("the host cannot be resolved (%s): correct the address", foreignText(dns.Err))
	case errors.As(err, &unknown) && s.hasCA:
		return &AccessError{Reason: "the server certificate is signed by an unknown authority", Advice: "set --ca-file to the certificate of another one" + skip}
	case errors.As(err, &unknown):
		return &AccessError{Reason: "the server certificate is signed by an unknown authority", Advice: "set --ca-file to the authority's certificate" + skip}
	case errors.As(err, &name):
		return &AccessError{"the server certificate is for another host", "use one of its names in the address" + skip, foreignText(name.Error())}
	case errors.As(err, &invalid):
		return &AccessError{"the server certificate is not valid", "renew it" + skip, foreignText(invalid.Error())}
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return errors.New("the server does not use TLS: use http:// instead of https:// in the address")
	case errors.As(err, &op) && op.Op == "remote error":
		return &AccessError{Reason: "the server rejected the TLS handshake (" + foreignText(op.Err.Error()) + ")", Advice: "set --cert-file and --key-file to a client certificate that it accepts"}
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
		return &AccessError{Reason: "the server requires authentication (" + status + ")", Advice: "set --token-file, or --cert-file and --key-file"}
	case code == http.StatusUnauthorized && token:
		return &AccessError{Reason: "the server does not accept the token (" + status + ")", Advice: "set --token-file to a valid one"}
	case code == http.StatusUnauthorized:
		return &AccessError{Reason: "the server does not accept the client certificate (" + status + ")", Advice: "set --cert-file and --key-file to another one, or use --token-file"}
	case code == http.StatusForbidden:
		return &AccessError{Reason: "the user may not read metrics (" + status + ")",
			Advice: fmt.Sprintf("allow \"get\" on the nonResourceURL %s, or use another identity with --token-file, or --cert-file and --key-file", s.url.Path)}
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
