package apiserver

import (
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
)

// useLoopbackClients lets upstream's own clients of the server stay in the process:
// theirs is a TLS connection each. Webhooks that go by its address keep that.
func useLoopbackClients(config *app.Config, itself http.Handler) {
	inside := loopback.Transport{Handler: itself, User: apiServerUser()}
	for _, generic := range []*server.Config{
		config.KubeAPIs.ControlPlane.Generic,
		&config.ApiExtensions.GenericConfig.Config,
		&config.Aggregator.GenericConfig.Config,
	} {
		own := rest.CopyConfig(generic.LoopbackClientConfig)
		own.Host = loopback.URL
		own.TLSClientConfig, own.Dial = rest.TLSClientConfig{}, nil
		own.Transport = inside
		generic.LoopbackClientConfig = own
	}
	useLoopbackInformers(config.KubeAPIs.ControlPlane.VersionedInformers, inside)
}

// useLoopbackInformers does so with the client of the API server's informers, which is
// made before anybody can change its configuration: the factory shows it to who
// constructs an informer, and some twenty would dial at once.
func useLoopbackInformers(factory informers.SharedInformerFactory, inside http.RoundTripper) {
	factory.InformerFor(&networkingv1.ServiceCIDR{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		if c, ok := client.NetworkingV1().RESTClient().(*rest.RESTClient); ok { // all groups have one http.Client
			c.Client.Transport = inside
		}
		return networkinginformers.NewServiceCIDRInformerWithOptions(client, internalinterfaces.InformerOptions{
			ResyncPeriod: resync, Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, InformerName: factory.InformerName(),
		})
	})
}
