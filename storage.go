package ctrlplane

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/apiserver/seed"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
)

// etcdStarter is an etcd that starts while other parts are got ready.
type etcdStarter struct {
	cfg     etcd.Config
	started chan struct{} // closed when server or err is final
	server  *etcd.Server
	fresh   bool // nothing was ever written to it
	err     error
	cancel  context.CancelFunc
}

// startEtcd begins to start etcd; who needs it waits for it.
func (p *controlPlane) startEtcd() {
	ctx, cancel := context.WithCancel(context.Background())
	st := &etcdStarter{
		cfg: etcd.Config{
			Dir:       p.dir.Join("etcd"),
			NoSync:    p.dir.Ephemeral(),
			Logger:    logfile.NewZapLogger(p.log, "etcd"),
			Endpoints: p.config.EtcdEndpoints,
			CAFile:    p.config.EtcdCAFile,
			CertFile:  p.config.EtcdCertFile,
			KeyFile:   p.config.EtcdKeyFile,
		},
		started: make(chan struct{}),
		cancel:  cancel,
	}
	p.etcd = st
	go func() {
		defer close(st.started)
		st.err = p.runStage("etcd", func() (err error) {
			if st.server, err = etcd.Start(ctx, st.cfg); err != nil {
				return err
			}
			if err := p.fillStore(ctx, st.server); err != nil || !st.server.IsEmpty() {
				return err
			}
			st.fresh = true
			if !p.usesSeed() {
				return nil
			}
			return p.writeSeed(ctx, st.server)
		})
	}()
	p.onClose(st.close)
}

// usesSeed tells whether an empty store begins with the seed: with flags that may
// lead upstream to another one it makes its own.
func (p *controlPlane) usesSeed() bool {
	return p.config.FeatureGates == "" && p.config.RuntimeConfig == "" && len(p.config.APIServerArgs) == 0
}

func (p *controlPlane) writeSeed(ctx context.Context, store *etcd.Server) error {
	pairs, err := seed.Pairs(time.Now())
	if err != nil {
		return err
	}
	return store.PutAll(ctx, func(yield func(string, []byte) bool) {
		for _, pair := range pairs {
			if strings.HasPrefix(pair.Key, seed.ServiceCIDRPrefix) && p.serviceCIDR() != defaultServiceCIDR {
				continue
			}
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	})
}

func (st *etcdStarter) waitStarted(ctx context.Context) error {
	select {
	case <-st.started:
		return st.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// apiServerEtcd returns how the API server reaches etcd. An embedded one may
// still be starting: its clients wait. One elsewhere has been reached by now.
func (st *etcdStarter) apiServerEtcd(ctx context.Context) (apiserver.Etcd, error) {
	if len(st.cfg.Endpoints) > 0 {
		if err := st.waitStarted(ctx); err != nil {
			return apiserver.Etcd{}, err
		}
		return apiserver.Etcd{Endpoints: st.cfg.Endpoints, CAFile: st.cfg.CAFile, CertFile: st.cfg.CertFile, KeyFile: st.cfg.KeyFile}, nil
	}
	connect := func() (*clientv3.Client, error) {
		if err := st.waitStarted(context.Background()); err != nil { // it ends with the start of etcd
			return nil, err
		}
		return st.server.Client()
	}
	return apiserver.Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Connect: connect, StartedEmpty: func() bool { return st.fresh }}, nil
}

// failure is why etcd did not start or has ended; nil while it runs or starts.
func (st *etcdStarter) failure() error {
	select {
	case <-st.started:
		if st.err != nil {
			return st.err
		}
		return st.server.Err()
	default:
		return nil
	}
}

func (st *etcdStarter) close() error {
	st.cancel()
	<-st.started
	if st.server == nil {
		return nil
	}
	return st.server.Close()
}
