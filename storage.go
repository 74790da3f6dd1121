package ctrlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/apiserver/seed"
	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// initializeStore writes the initial content of the store, a snapshot or the seed,
// before anything reads from it.
func (p *controlPlane) initializeStore(ctx context.Context, store *etcd.Server) (fresh bool, err error) {
	if err := p.waitChecked(ctx); err != nil {
		return false, err
	}
	target := p.snapshotTarget()
	if err := target.CheckPending(ctx, store); err != nil {
		return false, err
	}
	if err := p.recordEtcd(); err != nil {
		return false, err
	}
	if err := p.finishRestore(ctx, target, store); err != nil {
		return false, err
	}
	if from := p.initialSnapshot(); !from.IsNone() && !p.usesEmbeddedEtcd() {
		if err := p.whileWriting(func() error { return target.RestoreInitial(ctx, store, from) }); err != nil {
			return false, err
		}
		p.written = true
	}
	if err := p.recordCluster(); err != nil || !store.IsEmpty() {
		return false, err
	}
	if p.usesSeed() {
		err = p.writeSeed(ctx, store)
	}
	return true, err
}

// waitChecked returns, with an etcd cluster, when all has been checked that the user may have got wrong: the
// start that is repeated then finds the cluster and the folder as they were.
func (p *controlPlane) waitChecked(ctx context.Context) error {
	if p.usesEmbeddedEtcd() {
		return nil
	}
	select {
	case <-p.listening: // the last that is checked
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finishRestore finishes a restore that was interrupted, or warns that one is not finished.
func (p *controlPlane) finishRestore(ctx context.Context, target snapshotservice.Target, store *etcd.Server) error {
	err := p.whileWriting(func() error { return target.FinishPending(ctx, store) })
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

// whileWriting writes a snapshot, which describeCluster tells of.
func (p *controlPlane) whileWriting(write func() error) error {
	p.writing.Store(true)
	defer p.writing.Store(false)
	return write()
}

// recordEtcd records, of an embedded etcd, where the API server keeps its keys, before there are any: for
// OfflineDataDir and the next start. It warns if the last start used a cluster.
func (p *controlPlane) recordEtcd() error {
	last, err := p.dir.State()
	if err != nil {
		return err
	}
	state := last
	if p.usesEmbeddedEtcd() && cmp.Or(last.EtcdPrefix, storekeys.DefaultPrefix) != p.etcdPrefix() {
		state.EtcdPrefix = p.etcdPrefix()
	}
	if last.EtcdCluster && p.usesEmbeddedEtcd() {
		p.warn(fmt.Sprintf("the last start in data folder %s used an etcd cluster, this one uses the embedded etcd, which may lack what was written since: to use the cluster, start with --etcd-endpoints", p.dir.Path()))
	}
	if state == last {
		return nil
	}
	return p.dir.SaveState(state)
}

// recordCluster records that this control plane uses an etcd cluster, once its state is there. The end of a start
// without one takes that back: until then the folder holds an older state.
func (p *controlPlane) recordCluster() error {
	state, err := p.dir.State()
	if err != nil || p.usesEmbeddedEtcd() || state.EtcdCluster {
		return err
	}
	state.EtcdCluster = true
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

// etcdPrefix returns the prefix of all keys of the API server.
func (p *controlPlane) etcdPrefix() string {
	return path.Join("/", cmp.Or(p.apiServerFlag("etcd-prefix"), storekeys.DefaultPrefix))
}

// apiServerFlag returns the last value that a flag of kube-apiserver is given; empty = none.
func (p *controlPlane) apiServerFlag(name string) (value string) {
	for _, arg := range p.config.APIServer.Args {
		if v, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), name+"="); ok {
			value = v
		}
	}
	return value
}

// checkSnapshots fails if the API server keeps kinds in etcd servers of their own: snapshots would lack them.
// Without Events, which expire, a state is complete enough.
func (p *controlPlane) checkSnapshots() error {
	var elsewhere []string
	for _, arg := range p.config.APIServer.Args {
		overrides, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "etcd-servers-overrides=")
		if !ok {
			continue
		}
		for override := range strings.SplitSeq(overrides, ",") {
			kind, _, _ := strings.Cut(override, "#")
			if group, resource, ok := strings.Cut(kind, "/"); ok && resource != "events" {
				elsewhere = append(elsewhere, strings.TrimSuffix(resource+"."+group, "."))
			}
		}
	}
	if elsewhere == nil {
		return nil
	}
	return usage.Errorf("snapshots would lack what --kube-apiserver-arg etcd-servers-overrides keeps elsewhere (%s): remove these kinds from the flag: snapshots, reset and --from need them in the main etcd", strings.Join(elsewhere, ", "))
}

func (p *controlPlane) snapshotTarget() snapshotservice.Target {
	target := snapshotTarget(p.dir, p.etcdPrefix(), p.config.Name)
	target.CheckReadable = p.checkInitialReadable
	return target
}

func snapshotTarget(dir *datadir.Dir, prefix, name string) snapshotservice.Target {
	return snapshotservice.Target{
		Dir:          dir,
		Prefix:       prefix,
		ControlPlane: name,
		Versions:     snapshotservice.Versions{Kubernetes: KubernetesVersion, Program: Version()},
	}
}
