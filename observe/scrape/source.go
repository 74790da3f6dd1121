// Package scrape observes any process that exposes workqueue_* metrics in the
// Prometheus format, such as a controller-runtime manager or
// kube-controller-manager. Metrics contain neither keys nor records.
package scrape

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// minScrapeInterval is how long a scrape is reused, so that several observers cost
// the process no more than one.
const minScrapeInterval = 500 * time.Millisecond

// Options say where the metrics are and how to access them.
type Options struct {
	URL       string        // http or https; the path is /metrics if there is none
	Token     string        // bearer token
	TokenFile string        // read before every scrape, because tokens are rotated
	CAFile    string        // certificate authority; empty = those of the system
	CertFile  string        // client certificate
	KeyFile   string        // of the client certificate
	Insecure  bool          // skip the verification of the server certificate
	Timeout   time.Duration // of one scrape; 0 = 5 s
}

// Source is an observe.Source over a process's metrics.
type Source struct {
	url           *url.URL
	client        *http.Client
	token         string
	tokenFile     string
	timeout       time.Duration
	hasClientCert bool // the client authenticates with a certificate
	hasCA         bool // of the user
	now           func() time.Time

	lock    chan struct{} // of size 1: one scrape at a time
	scrapes []*scrape     // guarded by lock; oldest first
}

var _ observe.Source = (*Source)(nil)

// New checks the options; it does not connect.
func New(o Options) (*Source, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Timeout < 0 {
		return nil, errors.New("the timeout of a scrape is negative: use 0 for the default of 5 s")
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	config, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	if o.Token != "" && o.TokenFile != "" {
		return nil, errors.New("a token and --token-file are both set: remove one")
	}
	s := &Source{
		url:           u,
		token:         o.Token,
		tokenFile:     o.TokenFile,
		timeout:       o.Timeout,
		hasClientCert: o.CertFile != "",
		hasCA:         o.CAFile != "",
		now:           time.Now,
		lock:          make(chan struct{}, 1),
	}
	if _, err := s.bearerToken(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	s.client = &http.Client{
		Transport: transport,
		// A redirect may lead to a login page or leak the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// Host returns the host of the process's URL.
func (s *Source) Host() string { return s.url.Host }

// MayTrust reports whether the certificate of an address of metrics need not be verified: it is a loopback one, and no password of the
// URL is sent.
func MayTrust(address string) bool {
	u, err := parseURL(address)
	if err != nil || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Snapshot scrapes the process. Rates and recent durations come from the scrapes of
// the last minute.
func (s *Source) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return observe.Snapshot{}, ctx.Err()
	}
	if n := len(s.scrapes); n == 0 || s.now().Sub(s.scrapes[n-1].time) >= minScrapeInterval {
		latest, err := s.scrape(ctx)
		if err != nil {
			return observe.Snapshot{}, err
		}
		s.scrapes = keepRecent(s.scrapes, latest)
	}
	snapshot := composeSnapshot(s.scrapes)
	snapshot.Process.Name = s.url.Host
	snapshot.Process.URL = s.url.Redacted()
	return snapshot, nil
}

// Records returns an empty page: metrics contain no records.
func (s *Source) Records(_ context.Context, q observe.Query) (observe.Page, error) {
	return observe.Page{Records: []observe.Record{}, Next: q.After}, nil
}

func (s *Source) scrape(ctx context.Context) (*scrape, error) {
	body, contentType, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	families, err := parseMetrics(body, contentType)
	if err != nil {
		return nil, s.errorf("%w", err)
	}
	result := readScrape(families)
	if len(result.queues) == 0 {
		return nil, s.errorf("%w in %d metric families: use the address of a controller manager; one that waits for leader election has none yet", ErrNoQueues, len(families))
	}
	if result.keptSize() > maxKept {
		return nil, s.errorf("the process exposes too much of %s and %s: use the address of a process with fewer, or with fewer buckets",
			words.Count(len(result.queues), "work queue"), words.Count(len(result.controllers), "controller"))
	}
	result.time = s.now()
	return result, nil
}
