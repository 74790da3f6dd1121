package ctrlplane

import (
	"context"
	"net"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/logfile"
)

// storage is an etcd that starts while other parts are got ready.
type storage struct {
	cfg     etcd.Config
	started chan struct{} // closed when server or err is final
	server  *etcd.Server
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
			return p.fill(ctx, st.server)
		})
	}()
	p.onEnd(st.close)
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
// still be starting: its dialer waits. One elsewhere has been reached by now.
func (st *storage) forAPIServer(ctx context.Context) (apiserver.Etcd, error) {
	if len(st.cfg.Endpoints) > 0 {
		if err := st.wait(ctx); err != nil {
			return apiserver.Etcd{}, err
		}
		return apiserver.Etcd{Endpoints: st.cfg.Endpoints, CAFile: st.cfg.CAFile, CertFile: st.cfg.CertFile, KeyFile: st.cfg.KeyFile}, nil
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if err := st.wait(ctx); err != nil {
			return nil, err
		}
		return st.server.Dialer()(ctx, network, addr)
	}
	return apiserver.Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Dial: dial}, nil
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
