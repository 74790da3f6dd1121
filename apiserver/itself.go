package apiserver

import (
	"net/http"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
)

// itself is the API server as its own parts call it.
type itself struct {
	atomic.Pointer[server.APIServerHandler]
}

// callItself lets upstream's own clients of the server stay in the process:
// theirs is a TLS connection each. Webhooks that go by its address keep that.
func callItself(config *app.Config) *itself {
	i := &itself{}
	for _, generic := range []*server.Config{
		config.KubeAPIs.ControlPlane.Generic,
		&config.ApiExtensions.GenericConfig.Config,
		&config.Aggregator.GenericConfig.Config,
	} {
		own := rest.CopyConfig(generic.LoopbackClientConfig)
		own.Host = loopback.URL
		own.TLSClientConfig, own.Dial = rest.TLSClientConfig{}, nil
		own.Transport = loopback.Transport{Handler: i, User: apiServerUser()}
		generic.LoopbackClientConfig = own
	}
	return i
}

// ServeHTTP answers once the server is assembled, which is before its parts run.
func (i *itself) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h := i.Load(); h != nil {
		h.ServeHTTP(w, req)
		return
	}
	http.Error(w, "the API server is not assembled yet", http.StatusServiceUnavailable)
}
