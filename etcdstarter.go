package ctrlplane

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
)

// etcdStarter is an etcd that starts while other parts are prepared.
type etcdStarter struct {
	started chan struct{} // closed when the fields below are final
	server  *etcd.Server
	fresh   bool // the store was empty before this start
	err     error
}

func newEtcdStarter() *etcdStarter { return &etcdStarter{started: make(chan struct{})} }

// start starts etcd and calls initialize before others may use it.
func (e *etcdStarter) start(ctx context.Context, cfg etcd.Config, initialize func(context.Context, *etcd.Server) (fresh bool, err error)) error {
	defer close(e.started)
	if e.server, e.err = etcd.Start(ctx, cfg); e.err == nil {
		e.fresh, e.err = initialize(ctx, e.server)
	}
	return e.err
}

func (e *etcdStarter) wait(ctx context.Context) error {
	select {
	case <-e.started:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failure returns why etcd has not started or has ended; nil while it starts or runs.
func (e *etcdStarter) failure() error {
	select {
	case <-e.started:
		if e.err != nil {
			return e.err
		}
		return e.server.Err()
	default:
		return nil
	}
}

func (p *controlPlane) usesEmbeddedEtcd() bool { return len(p.config.Etcd.Endpoints) == 0 }

func (p *controlPlane) startEtcd(ctx context.Context) error {
	return p.etcd.start(ctx, etcd.Config{
		Dir:       p.dir.Join("etcd"),
		HoldsData: p.holdsData && p.initialSnapshot().IsNone(),
		OtherDisk: p.dir.OtherDisk(),
		NoSync:    p.dir.Ephemeral(),
		Logger:    logfile.NewZapLogger(p.log, "etcd"),
		Endpoints: p.config.Etcd.Endpoints,
		CAFile:    p.config.Etcd.CAFile,
		CertFile:  p.config.Etcd.CertFile,
		KeyFile:   p.config.Etcd.KeyFile,

		RefusedWrite: newRefusedWriteError,
		OnSpace:      p.warnWhileRunning,
	}, p.initializeStore)
}

// newRefusedWriteError is what clients of the API server receive for a write for which
// space is missing.
func newRefusedWriteError(reason string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage", Message: reason,
	}}
}

// describeCluster says what the start waits for if an etcd cluster does not answer, or is written to for long; nil
// without a cluster.
func (p *controlPlane) describeCluster() func(context.Context) string {
	if p.usesEmbeddedEtcd() {
		return nil
	}
	return func(context.Context) string {
		endpoints := strings.Join(p.config.Etcd.Endpoints, ", ")
		if p.writing.Load() {
			return fmt.Sprintf("writing the snapshot into the etcd cluster %s: if this does not end, check that most of its members are running", endpoints)
		}
		return fmt.Sprintf("waiting for the etcd cluster %s: check that most of its members are running", endpoints)
	}
}

func (p *controlPlane) closeEtcd() error {
	if p.etcd.server == nil {
		return nil
	}
	return p.etcd.server.Close()
}

// apiServerEtcd returns how the API server connects to etcd. An embedded etcd may
// still be starting: its clients wait for it. A cluster must already have responded.
func (p *controlPlane) apiServerEtcd(ctx context.Context) (apiserver.Etcd, error) {
	cluster := p.config.Etcd
	if !p.usesEmbeddedEtcd() {
		if err := p.etcd.wait(ctx); err != nil {
			return apiserver.Etcd{}, err
		}
		if err := p.recordRelease(); err != nil {
			return apiserver.Etcd{}, err
		}
		return apiserver.Etcd{Endpoints: cluster.Endpoints, CAFile: cluster.CAFile, CertFile: cluster.CertFile, KeyFile: cluster.KeyFile}, nil
	}
	record := sync.OnceValue(p.recordRelease)
	connect := func() (*clientv3.Client, error) {
		if err := p.etcd.wait(context.Background()); err != nil { // ends with the step that starts etcd
			return nil, err
		}
		if err := record(); err != nil {
			return nil, err
		}
		return p.etcd.server.Client()
	}
	return apiserver.Etcd{
		Endpoints: []string{"http://127.0.0.1:0"}, Connect: connect,
		CaughtUp:     func() bool { return p.etcd.server.CaughtUp() },
		StartedEmpty: func() bool { return p.etcd.fresh },
	}, nil
}
