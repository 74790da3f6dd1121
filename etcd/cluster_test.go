package etcd

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startCluster starts an etcd on a loopback port, like one that a user runs.
func startCluster(t *testing.T, files *testFiles) (endpoint string) {
	t.Helper()
	l := newLifetime(t.Context())
	cfg, err := newEmbedConfig(Config{Dir: t.TempDir(), NoSync: true}, defaultQuotaBytes, l.guardLogger(Config{}.zapLogger(), ""))
	must(t, err)
	scheme := "http"
	if files != nil {
		scheme = "https"
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = files.cert, files.key
		cfg.ClientTLSInfo.TrustedCAFile = files.ca
		cfg.ClientTLSInfo.ClientCertAuth = true
	}
	u, err := url.Parse(scheme + "://127.0.0.1:0")
	must(t, err)
	cfg.ListenClientUrls = []url.URL{*u}
	e, err := embed.StartEtcd(cfg)
	must(t, err)
	t.Cleanup(e.Close)
	must(t, becomeLeader(testContext(t), e.Server))
	return scheme + "://" + e.Clients[0].Addr().String()
}

// deadEndpoint is an address at which nothing listens.
func deadEndpoint(t *testing.T, scheme string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return scheme + "://" + l.Addr().String()
}

// silentEndpoint accepts connections and never answers.
func silentEndpoint(t *testing.T, scheme string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return scheme + "://" + l.Addr().String()
}

// shortTimeout limits the wait for an endpoint that does not answer.
const shortTimeout = 300 * time.Millisecond

func TestClusterConnects(t *testing.T) {
	files := newTestFiles(t)
	secure, plain := startCluster(t, files), startCluster(t, nil)
	deadHTTP, deadHTTPS := deadEndpoint(t, "http"), deadEndpoint(t, "https")

	ok := map[string]Config{
		"https":                     {Endpoints: []string{secure}, CAFile: files.ca, CertFile: files.cert, KeyFile: files.key},
		"http":                      {Endpoints: []string{plain}},
		"trailing slash":            {Endpoints: []string{plain + "/"}},
		"first of two is dead":      {Endpoints: []string{deadHTTPS, secure}, CAFile: files.ca, CertFile: files.cert, KeyFile: files.key},
		"second of two is dead":     {Endpoints: []string{plain, deadHTTP}},
		"first of two says nothing": {Endpoints: []string{silentEndpoint(t, "http"), plain}},
	}
	for name, cfg := range ok {
		t.Run(name, func(t *testing.T) {
			cfg.dialTimeout = testTimeout // the default, 5 s, can be too short on a busy machine
			s, err := Start(testContext(t), cfg)
			must(t, err)
			closeServer(t, s)
			<-s.Done()
			must(t, connectCluster(testContext(t), cfg)) // the cluster still runs
		})
	}
}

func TestClusterConnectErrors(t *testing.T) {
	files, strangers := newTestFiles(t), newTestFiles(t)
	secure, plain := startCluster(t, files), startCluster(t, nil)
	deadHTTP := deadEndpoint(t, "http")
	_, err := net.Dial("tcp", strings.TrimPrefix(deadHTTP, "http://"))
	var system *os.SyscallError
	if !errors.As(err, &system) {
		t.Fatalf("%s: %v", deadHTTP, err)
	}
	refused := system.Err.Error()

	bad := map[string]struct {
		cfg  Config
		want []string
	}{
		"wrong CA": {
			Config{Endpoints: []string{secure}, CAFile: strangers.ca, CertFile: files.cert, KeyFile: files.key, dialTimeout: testTimeout},
			[]string{secure + ": TLS: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		},
		"wrong name": {
			Config{Endpoints: []string{strings.Replace(secure, "127.0.0.1", "localhost", 1)}, CAFile: files.ca, dialTimeout: testTimeout},
			[]string{"localhost", "TLS: tls: failed to verify certificate", "wanted to match localhost"},
		},
		"no client certificate": {
			Config{Endpoints: []string{secure}, CAFile: files.ca, dialTimeout: testTimeout},
			[]string{secure + ": ", "certificate required"},
		},
		"nothing listens": {
			Config{Endpoints: []string{deadHTTP}, dialTimeout: shortTimeout},
			[]string{deadHTTP + ": dial tcp", refused, "check the endpoints"},
		},
		"both dead": {
			Config{Endpoints: []string{deadHTTP, silentEndpoint(t, "http")}, dialTimeout: shortTimeout},
			[]string{deadHTTP + ": dial tcp", refused, ": no answer in time"},
		},
		"https to http": {
			Config{Endpoints: []string{strings.Replace(plain, "http", "https", 1)}, dialTimeout: shortTimeout},
			[]string{"https://127.0.0.1:", ": TLS: EOF"},
		},
		"http to https": {
			Config{Endpoints: []string{strings.Replace(secure, "https", "http", 1)}, dialTimeout: shortTimeout},
			[]string{"http://127.0.0.1:", "error reading server preface"},
		},
	}
	for name, tt := range bad {
		t.Run(name, func(t *testing.T) { wantConnectError(t, tt.cfg, tt.want...) })
	}
}

func TestClusterConnectRespectsContext(t *testing.T) {
	deadHTTP := deadEndpoint(t, "http")
	ctx, cancel := context.WithTimeout(t.Context(), shortTimeout)
	defer cancel()
	if s, err := Start(ctx, Config{Endpoints: []string{deadHTTP}, dialTimeout: testTimeout}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start = %v, %v, want the context's error, not that of the dial timeout", s, err)
	}
}

func TestClusterConfigErrors(t *testing.T) {
	files, others := newTestFiles(t), newTestFiles(t)
	https := []string{"https://127.0.0.1:1"}
	absent := filepath.Join(t.TempDir(), "absent")
	tests := map[string]struct {
		cfg  Config
		want []string
	}{
		"nothing given":   {Config{}, []string{"neither a data folder nor endpoints"}},
		"no scheme":       {Config{Endpoints: []string{"127.0.0.1:2379"}}, []string{`"127.0.0.1:2379"`, "https://"}},
		"other scheme":    {Config{Endpoints: []string{"ftp://h:1"}}, []string{`"ftp://h:1"`, "does not begin with http"}},
		"no port":         {Config{Endpoints: []string{"https://h"}}, []string{`"https://h" has no host or no port`}},
		"no host":         {Config{Endpoints: []string{"https://:2379"}}, []string{"has no host or no port"}},
		"path":            {Config{Endpoints: []string{"https://h:1/v3"}}, []string{"more than a host and a port"}},
		"user":            {Config{Endpoints: []string{"https://a:b@h:1"}}, []string{"more than a host and a port"}},
		"no URL":          {Config{Endpoints: []string{"https://h:x"}}, []string{"is not a URL"}},
		"mixed":           {Config{Endpoints: []string{"https://h:1", "http://i:1"}}, []string{`"https://h:1" and "http://i:1" have different schemes`}},
		"files with http": {Config{Endpoints: []string{"http://h:1"}, CAFile: files.ca}, []string{"endpoints are http://"}},
		"absent CA":       {Config{Endpoints: https, CAFile: absent}, []string{absent, syscall.ENOENT.Error()}},
		"CA is a key":     {Config{Endpoints: https, CAFile: files.key}, []string{files.key + " has no certificate"}},
		"absent cert":     {Config{Endpoints: https, CertFile: absent, KeyFile: files.key}, []string{"certificate file", absent, syscall.ENOENT.Error()}},
		"absent key":      {Config{Endpoints: https, CertFile: files.cert, KeyFile: absent}, []string{"key file", absent, syscall.ENOENT.Error()}},
		"cert alone":      {Config{Endpoints: https, CertFile: files.cert}, []string{"both or neither"}},
		"key alone":       {Config{Endpoints: https, KeyFile: files.key}, []string{"both or neither"}},
		"not a pair":      {Config{Endpoints: https, CertFile: files.cert, KeyFile: others.key}, []string{files.cert, others.key, "do not match"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantConnectError(t, tt.cfg, tt.want...) })
	}
}

// wantConnectError allows a dialTimeout to be too short for the answer of an endpoint: the
// machine may be slow.
func wantConnectError(t *testing.T, cfg Config, want ...string) {
	t.Helper()
	s, err := Start(testContext(t), cfg)
	missing := func(text string) bool { return !strings.Contains(err.Error(), text) }
	for err != nil && slices.ContainsFunc(want, missing) && cfg.dialTimeout > 0 && cfg.dialTimeout < testTimeout {
		cfg.dialTimeout *= 2
		s, err = Start(testContext(t), cfg)
	}
	if err == nil {
		t.Fatalf("Start = %v, want an error", s)
	}
	t.Log(err)
	for _, w := range append(want, "etcd: ") {
		if missing(w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q is more than one line", err)
	}
}
