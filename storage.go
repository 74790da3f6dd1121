package ctrlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/apiserver/seed"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *controlPlane) openDataDir(ctx context.Context) (err error) {
	if p.config.Dir == "" {
		p.dir, err = datadir.OpenTemp()
	} else {
		p.dir, err = datadir.Open(ctx, p.config.Dir, dataVersion)
	}
	if err != nil {
		return err
	}
	dirPath := p.dir.Path()
	p.dirPath.Store(&dirPath)
	if err := p.dir.CleanupError(); err != nil {
		p.warn(err.Error())
	}
	state, err := p.beginState()
	if err != nil {
		return err
	}
	if err := p.chooseKubernetes(state); err != nil {
		return err
	}
	p.holdsData = state.EmbeddedEtcd
	from := p.initialSnapshot()
	if from.IsNone() {
		return nil
	}
	if !p.usesEmbeddedEtcd() {
		_, err := p.snapshotTarget().ReadInitial(from) // before anything is started
		return err
	}
	err = p.snapshotTarget().PlaceInitial(from)
	p.placed = err == nil
	return err
}

// initialSnapshot is what a new control plane starts from.
func (p *controlPlane) initialSnapshot() snapshotservice.Initial {
	return snapshotservice.Initial{Path: p.config.FromSnapshot, Data: p.config.FromSnapshotData}
}

func (p *controlPlane) usesEmbeddedEtcd() bool { return len(p.config.Etcd.Endpoints) == 0 }

// closeDataDir removes what a failed start has created, but not a restore that it has
// begun in an etcd cluster: only the folder can finish that.
func (p *controlPlane) closeDataDir() (err error) {
	switch {
	case p.dir == nil:
		return nil
	case p.ready.Load():
		return p.dir.Close()
	case !p.usesEmbeddedEtcd() && !p.dir.Ephemeral() && p.snapshotTarget().HasPending():
		p.warn(fmt.Sprintf("data folder %s is kept, because the state in etcd is half restored: start again without --from to finish that", p.dir.Path()))
		return p.dir.Close()
	case p.placed: // or the next start would begin with that snapshot without being told to
		err = p.snapshotTarget().WithdrawInitial()
	}
	return errors.Join(err, p.dir.Discard())
}

// dataDirInterval is how often to look whether the data folder is still there.
const dataDirInterval = 2 * time.Second

// touchInterval is how often the files of an ephemeral folder are touched: those that clean the
// folder for temporary files wait for three days and more.
const touchInterval = 24 * time.Hour

// watchDataDir warns when the data folder was removed. The control plane goes on: the
// files that etcd has opened work until it closes them. It also keeps others from cleaning up
// an ephemeral one.
func (p *controlPlane) watchDataDir() {
	tick := time.NewTicker(dataDirInterval)
	defer tick.Stop()
	touched := time.Now()
	for !p.dir.IsRemoved() {
		select {
		case <-p.closing:
			return
		case <-tick.C:
		}
		if p.dir.Ephemeral() && hasPassed(touchInterval, touched, time.Now()) {
			touched = time.Now()
			if err := p.dir.Touch(); err != nil {
				p.log.Warn("data folder", "err", err)
			}
		}
	}
	p.warnWhileRunning(fmt.Sprintf("data folder %s was removed while it is in use: this control plane goes on, but other commands do not find it, and its data is lost when it ends", p.dir.Path()))
}

// hasPassed reports whether an interval has passed by the clock, which goes on while the machine
// sleeps.
func hasPassed(interval time.Duration, since, now time.Time) bool {
	return now.Round(0).Sub(since.Round(0)) >= interval
}

func (p *controlPlane) dataDirPath() string {
	if path := p.dirPath.Load(); path != nil {
		return *path
	}
	return ""
}

func (p *controlPlane) logPath() string {
	if p.config.Log.Path != "" {
		return p.config.Log.Path
	}
	return p.dir.Join(LogFile)
}

// foreignLogPath is the path of a log that is not in the data folder; otherwise empty.
func (p *controlPlane) foreignLogPath() (string, error) {
	if p.config.Log == nil || p.config.Log.Path == "" {
		return "", nil
	}
	return filepath.Abs(p.config.Log.Path)
}

func (p *controlPlane) openLog(context.Context) (err error) {
	if p.config.Log == nil {
		return nil
	}
	cfg := *p.config.Log
	cfg.Path = p.logPath()
	if p.logFile, err = logfile.Open(cfg); err != nil {
		return err
	}
	p.log = slog.New(p.logFile.Handler())
	return setKlog(p.log.Handler(), cfg.Verbosity)
}

func (p *controlPlane) closeLog() error {
	if p.logFile == nil {
		return nil
	}
	return p.logFile.Close()
}

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

func (p *controlPlane) startEtcd(ctx context.Context) error {
	return p.etcd.start(ctx, etcd.Config{
		Dir:       p.dir.Join("etcd"),
		HoldsData: p.holdsData && p.initialSnapshot().IsNone(),
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

// warnWhileRunning also records the warning, for those who observe the control plane.
func (p *controlPlane) warnWhileRunning(msg string) {
	p.warn(msg)
	p.observer.Append(&observe.Logged{Controller: observe.Own, Level: int(slog.LevelWarn), Message: msg})
}

func (p *controlPlane) closeEtcd() error {
	if p.etcd.server == nil {
		return nil
	}
	return p.etcd.server.Close()
}

// initializeStore writes the initial content of the store, a snapshot or the seed,
// before anything reads from it.
func (p *controlPlane) initializeStore(ctx context.Context, store *etcd.Server) (fresh bool, err error) {
	target := p.snapshotTarget()
	if err := target.CheckPending(ctx, store); err != nil {
		return false, err
	}
	if err := p.recordEtcdPrefix(); err != nil {
		return false, err
	}
	if err := p.finishRestore(ctx, target, store); err != nil {
		return false, err
	}
	if from := p.initialSnapshot(); !from.IsNone() && !p.usesEmbeddedEtcd() {
		return false, target.RestoreInitial(ctx, store, from)
	}
	if !store.IsEmpty() {
		return false, nil
	}
	if p.usesSeed() {
		err = p.writeSeed(ctx, store)
	}
	return true, err
}

// finishRestore finishes a restore that was interrupted, or warns that one is not finished.
func (p *controlPlane) finishRestore(ctx context.Context, target snapshotservice.Target, store *etcd.Server) error {
	err := target.FinishPending(ctx, store)
	if unfinished, ok := errors.AsType[*snapshotservice.UnfinishedError](err); ok {
		p.warn(unfinished.Error())
		err = nil
	}
	if err != nil {
		return err
	}
	other, err := target.FindOther(ctx, store)
	if other != "" {
		p.warn(other)
	}
	return err
}

// recordEtcdPrefix records where the API server keeps its keys, before there are any,
// for OfflineDataDir.
func (p *controlPlane) recordEtcdPrefix() error {
	state, err := p.dir.State()
	if err != nil || !p.usesEmbeddedEtcd() || cmp.Or(state.EtcdPrefix, storekeys.DefaultPrefix) == p.etcdPrefix() {
		return err
	}
	state.EtcdPrefix = p.etcdPrefix()
	return p.dir.SaveState(state)
}

// usesSeed reports whether an empty store starts with the seed. With flags that may
// change what upstream creates there, upstream creates it.
func (p *controlPlane) usesSeed() bool {
	c := p.config.APIServer
	return c.FeatureGates == "" && c.RuntimeConfig == "" && len(c.Args) == 0
}

func (p *controlPlane) writeSeed(ctx context.Context, store *etcd.Server) error {
	pairs, err := seed.Pairs(p.kubernetesVersion(), time.Now())
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

// apiServerEtcd returns how the API server connects to etcd. An embedded etcd may
// still be starting: its clients wait for it. A cluster must already have responded.
func (p *controlPlane) apiServerEtcd(ctx context.Context) (apiserver.Etcd, error) {
	cluster := p.config.Etcd
	if !p.usesEmbeddedEtcd() {
		if err := p.etcd.wait(ctx); err != nil {
			return apiserver.Etcd{}, err
		}
		return apiserver.Etcd{Endpoints: cluster.Endpoints, CAFile: cluster.CAFile, CertFile: cluster.CertFile, KeyFile: cluster.KeyFile}, nil
	}
	connect := func() (*clientv3.Client, error) {
		if err := p.etcd.wait(context.Background()); err != nil { // ends with the step that starts etcd
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

// etcdPrefix returns the prefix of all keys of the API server.
func (p *controlPlane) etcdPrefix() string {
	prefix := storekeys.DefaultPrefix
	for _, arg := range p.config.APIServer.Args {
		if value, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "etcd-prefix="); ok {
			prefix = value
		}
	}
	return path.Join("/", prefix)
}

func (p *controlPlane) snapshotTarget() snapshotservice.Target {
	return snapshotTarget(p.dir, p.etcdPrefix(), p.config.Name)
}

func snapshotTarget(dir *datadir.Dir, prefix, name string) snapshotservice.Target {
	return snapshotservice.Target{
		Dir:          dir,
		Prefix:       prefix,
		ControlPlane: name,
		Versions:     snapshotservice.Versions{Kubernetes: KubernetesVersion, Program: Version()},
	}
}
