package main

import (
	"net/http"
	"os"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/clients"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// joinSync makes the requests of a kubectl part of the sync that it runs in, if it runs in
// a command of "ctrlplane reconcile".
func joinSync(cfg *rest.Config) {
	header := os.Getenv(syncEnv)
	if header == "" {
		return
	}
	cfg.UserAgent = useragent.Of(reconcileProgram)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &syncTransport{next, header} })
}

// syncTransport adds the header that names a sync.
type syncTransport struct {
	next   http.RoundTripper
	header string
}

// RoundTrip implements http.RoundTripper.
func (t *syncTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = utilnet.CloneRequest(req)
	req.Header.Set(clients.SyncHeader, t.header)
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (t *syncTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
