package apiserver

import (
	"errors"
	"net/http"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	networkinginformers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
)

// useLoopbackClients makes upstream's own clients call handler directly. By default
// each of them has a TLS connection to the server. Those of admission, which upstream makes with
// its configuration, and calls of webhooks still use the server's address.
func useLoopbackClients(config *app.Config, handler http.Handler) error {
	transport := loopback.Transport{Handler: handler, User: apiServerUser(), UserAgent: useragent.Of(useragent.APIServer)}
	for _, generic := range []*server.Config{
		config.KubeAPIs.ControlPlane.Generic,
		&config.ApiExtensions.GenericConfig.Config,
		&config.Aggregator.GenericConfig.Config,
	} {
		own := rest.CopyConfig(generic.LoopbackClientConfig)
		own.Host = loopback.URL
		own.TLSClientConfig, own.Dial = rest.TLSClientConfig{}, nil
		own.Transport = transport
		generic.LoopbackClientConfig = own
	}
	return useLoopbackInformers(config.KubeAPIs.ControlPlane.VersionedInformers, transport)
}

// useLoopbackInformers does the same for the client of the API server's informers. It
// is created together with its configuration, so its transport has to be replaced
// later. The factory passes the client to the function that constructs an informer.
func useLoopbackInformers(factory informers.SharedInformerFactory, transport http.RoundTripper) error {
	replaced := false
	factory.InformerFor(&networkingv1.ServiceCIDR{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		if c, ok := client.NetworkingV1().RESTClient().(*rest.RESTClient); ok && c != nil {
			c.Client.Transport = transport // the clients of all API groups share one http.Client
			replaced = sharesClient(client, c.Client)
		}
		return networkinginformers.NewServiceCIDRInformerWithOptions(client, internalinterfaces.InformerOptions{
			ResyncPeriod: resync, Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, InformerName: factory.InformerName(),
		})
	})
	if !replaced {
		return errors.New("apiserver: the client of the API server's informers cannot be replaced in this version of client-go: see docs/upstream-hooks.md")
	}
	return nil
}

// sharesClient reports whether the client of the core API group uses c.
func sharesClient(client kubernetes.Interface, c *http.Client) bool {
	core, ok := client.CoreV1().RESTClient().(*rest.RESTClient)
	return ok && core != nil && core.Client == c
}
