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

// storage is an etcd that starts while other parts are got ready.
type storage struct {
	cfg     etcd.Config
	started chan struct{} // closed when server or err is final
	server  *etcd.Server
	fresh   bool // nothing was ever written to it
	err     error
	cancel  context.CancelFunc
}

// startStorage begins to start etcd; who needs it waits for it.
func (p *plane) startStorage() {
	ctx, cancel := context.WithCancel(context.Background())
	st := &storage{
		cfg: etcd.Config{
			Dir:       p.dir.Join("etcd"),
			NoSync:    p.dir.Ephemeral(),
			Logger:    logfile.Zap(p.log, "etcd"),
			Endpoints: p.Server.EtcdEndpoints,
			CAFile:    p.Server.EtcdCAFile,
			CertFile:  p.Server.EtcdCertFile,
			KeyFile:   p.Server.EtcdKeyFile,
		},
		started: make(chan struct{}),
		cancel:  cancel,
	}
	p.storage = st
	go func() {
		defer close(st.started)
		st.err = p.stage("etcd", func() (err error) {
			if st.server, err = etcd.Start(ctx, st.cfg); err != nil {
				return err
			}
			if err := p.fill(ctx, st.server); err != nil || !st.server.Empty() {
				return err
			}
			st.fresh = true
			if !p.seeded() {
				return nil
			}
			return p.plant(ctx, st.server)
		})
	}()
	p.onEnd(st.close)
}

// seeded tells whether an empty store begins with the seed: with flags that may
// lead upstream to another one it makes its own.
func (p *plane) seeded() bool {
	return p.Server.FeatureGates == "" && p.Server.RuntimeConfig == "" && len(p.Server.APIServerArgs) == 0
}

func (p *plane) plant(ctx context.Context, store *etcd.Server) error {
	pairs, err := seed.Pairs(time.Now())
	if err != nil {
		return err
	}
	return store.Fill(ctx, func(yield func(string, []byte) bool) {
		for _, pair := range pairs {
			if strings.HasPrefix(pair.Key, seed.ServiceCIDRs) && p.serviceCIDR() != defaultServiceCIDR {
				continue
			}
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	})
}

func (st *storage) wait(ctx context.Context) error {
	select {
	case <-st.started:
		return st.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forAPIServer returns how the API server reaches etcd. An embedded one may
// still be starting: its clients wait. One elsewhere has been reached by now.
func (st *storage) forAPIServer(ctx context.Context) (apiserver.Etcd, error) {
	if len(st.cfg.Endpoints) > 0 {
		if err := st.wait(ctx); err != nil {
			return apiserver.Etcd{}, err
		}
		return apiserver.Etcd{Endpoints: st.cfg.Endpoints, CAFile: st.cfg.CAFile, CertFile: st.cfg.CertFile, KeyFile: st.cfg.KeyFile}, nil
	}
	connect := func() (*clientv3.Client, error) {
		if err := st.wait(context.Background()); err != nil { // it ends with the start of etcd
			return nil, err
		}
		return st.server.Client()
	}
	return apiserver.Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Connect: connect, Fresh: func() bool { return st.fresh }}, nil
}

// failure is why etcd did not start or has ended; nil while it runs or starts.
func (st *storage) failure() error {
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

func (st *storage) close() error {
	st.cancel()
	<-st.started
	if st.server == nil {
		return nil
	}
	return st.server.Close()
}
