package intervene

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// RefuseWrites makes the writes of cfg's clients fail while mayWrite returns an error,
// and returns cfg. Leases and what writes nothing are exempt. Call it before InterceptCalls, so that
// a held write is checked when it is released.
func RefuseWrites(cfg *rest.Config, mayWrite func() error) *rest.Config {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusingTransport{next, mayWrite} })
	return cfg
}

type refusingTransport struct {
	next     http.RoundTripper
	mayWrite func() error
}

func (t refusingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if canBeHeld(req) {
		if err := t.mayWrite(); err != nil {
			return nil, rejectRequest(req, err)
		}
	}
	return t.next.RoundTrip(req)
}
