package apiserver

import (
	"context"
	"errors"
	"net"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/controlplane"
)

func TestSetKubeletDialer(t *testing.T) {
	errEgress, errLookup := errors.New("egress"), errors.New("no such network")
	egress := func(dial utilnet.DialFunc, err error) egressselector.Lookup {
		return func(egressselector.NetworkContext) (utilnet.DialFunc, error) { return dial, err }
	}
	chosen := func(context.Context, string, string) (net.Conn, error) { return nil, errEgress }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, test := range []struct {
		name         string
		egress       egressselector.Lookup
		lookup, dial error
	}{
		{name: "no egress selector"},
		{name: "an egress selector that leaves kubelets alone", egress: egress(nil, nil)},
		{name: "an egress selector", egress: egress(chosen, nil), dial: errEgress},
		{name: "an egress selector that fails", egress: egress(nil, errLookup), lookup: errLookup},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := &controlplane.Config{}
			config.ControlPlane.VersionedInformers = informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			config.Extra.KubeletClientConfig.Lookup = test.egress
			setKubeletDialer(config, func(nodes corelisters.NodeLister, network utilnet.DialFunc) utilnet.DialFunc {
				if nodes == nil {
					t.Error("no lister of nodes")
				}
				return network
			})
			dial, err := config.Extra.KubeletClientConfig.Lookup(egressselector.Cluster.AsNetworkContext())
			if !errors.Is(err, test.lookup) {
				t.Fatalf("got %v, want %v", err, test.lookup)
			}
			if err != nil {
				return
			}
			conn, err := dial(t.Context(), "tcp", listener.Addr().String())
			if !errors.Is(err, test.dial) {
				t.Errorf("got %v, want %v", err, test.dial)
			}
			if conn != nil {
				conn.Close()
			}
		})
	}
}
