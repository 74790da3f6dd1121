package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/manifests/kustomize"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// devPlane brings a control plane to the state in which a run of the operator begins.
type devPlane struct {
	server    *ctrlplane.Server
	account   *serviceAccountFlag
	crds      []string // of manifests
	manifests manifestFlags
	keep      bool // never restore

	bare []byte // snapshot from before the manifests
	base []byte // snapshot in which a run begins

	inputs []string             // the files of the kustomizations, as far as they were ever read
	watch  func(paths []string) // watches the inputs; nil = nothing is watched yet
	warn   func(string)
	leases devLeases
	locks  devLocks
}

// load reads the manifests: the CustomResourceDefinitions of crds, and all objects of
// the others. What the kustomizations consist of is watched before it is built, so that a later change
// is not lost.
func (p *devPlane) load(ctx context.Context) (objs []manifests.Object, err error) {
	if len(p.crds) > 0 {
		if objs, err = manifests.Load(ctx, p.crds); errors.Is(err, manifests.ErrNoFile) {
			return nil, usage.Errorf("--crds: %s: name the folder that has them", err.Error()) // ends the match: -R does not apply
		} else if err != nil {
			return nil, fmt.Errorf("--crds: %w", err)
		}
		objs = slices.DeleteFunc(objs, func(o manifests.Object) bool { return o.GetKind() != "CustomResourceDefinition" })
		if len(objs) == 0 {
			return nil, usage.Errorf("--crds: no CustomResourceDefinition in %s: name the folder that has them", strings.Join(p.crds, ", "))
		}
	}
	p.findInputs()
	paths, texts, err := p.manifests.resolve(ctx)
	if err != nil {
		return nil, err
	}
	more, err := manifests.LoadAll(ctx, paths, texts)
	return append(objs, more...), err
}

// findInputs finds the files of the kustomizations, and has them watched.
func (p *devPlane) findInputs() {
	for _, dir := range p.manifests.kustomize {
		p.inputs = append(p.inputs, kustomize.Inputs(dir)...)
	}
	slices.Sort(p.inputs)
	p.inputs = slices.Compact(p.inputs)
	if p.watch != nil {
		p.watch(p.inputs)
	}
}

// begin applies the manifests for the first time, in stages.
func (p *devPlane) begin(ctx context.Context, stage func(name string, run func() error) error) (err error) {
	err = stage("settling", func() (err error) {
		p.bare, err = p.saveSettled(ctx)
		return err
	})
	if err != nil {
		return err
	}
	apply := func() error {
		objs, err := p.load(ctx)
		if err != nil {
			return err
		}
		return p.apply(ctx, objs)
	}
	if len(p.manifestPaths()) == 0 {
		err = apply()
	} else {
		err = stage("manifests", apply)
	}
	if err != nil {
		return err
	}
	if p.leases.client, err = coordinationclient.NewForConfig(p.server.RESTConfig()); err != nil {
		return err
	}
	p.leases.elections = p.keep
	if err := p.leases.begin(ctx); err != nil {
		return err
	}
	if p.locks, err = newDevLocks(p.server.RESTConfig()); err != nil {
		return err
	}
	if err := p.locks.begin(ctx); err != nil {
		return err
	}
	err = p.leases.deleteTaken(ctx) // those that have expired
	p.releaseLocks(ctx)
	return err
}

// releaseLocks releases the locks of leader elections. A webhook of the operator, which does not run, may refuse that: then a new
// leader waits until the lock expires.
func (p *devPlane) releaseLocks(ctx context.Context) {
	if err := p.locks.releaseTaken(ctx); err != nil && ctx.Err() == nil {
		p.warn("a lock of a leader election was not released, a new leader waits until it expires: " + err.Error())
	}
}

// devSettleTimeout is how long the first work of controllers, at the start or on manifests,
// may take to be part of the state in which runs begin.
const devSettleTimeout = 10 * time.Second

// apply applies the manifests, and notes the state as the one in which runs begin.
func (p *devPlane) apply(ctx context.Context, objs []manifests.Object) (err error) {
	if _, err := manifests.Apply(ctx, p.server.RESTConfig(), objs); err != nil {
		return err
	}
	if p.base, err = p.saveSettled(ctx); err != nil {
		return err
	}
	// A ServiceAccount that was created again does not have the token of the one before.
	return p.account.writeKubeconfig(ctx, p.server.DataDir(), p.server.RESTConfig())
}

// saveSettled saves the state once the controllers have done their work: what is not in the
// snapshot is done again after each restore, or fails because they remember to have done it.
func (p *devPlane) saveSettled(ctx context.Context) ([]byte, error) {
	if observer := p.server.Observer(); observer != nil {
		settling, cancel := context.WithTimeout(ctx, devSettleTimeout)
		defer cancel()
		_ = settled.Wait(settling, observer, settleHorizon, nil) // what never settles is no obstacle
	}
	return p.server.SaveSnapshot(ctx)
}

// prepare restores the state in which a run begins. If manifests have changed, they are
// applied to the state from before them, so that nothing of the earlier ones remains.
func (p *devPlane) prepare(ctx context.Context, changed []string) error {
	if len(changed) == 0 {
		return nil
	}
	if err := p.leases.deleteTaken(ctx); err != nil {
		return err
	}
	if err := p.restore(ctx, changed); err != nil {
		return err
	}
	p.releaseLocks(ctx) // also those that were restored
	return nil
}

func (p *devPlane) restore(ctx context.Context, changed []string) error {
	if !slices.ContainsFunc(changed, p.isManifestPath) {
		if p.keep {
			return nil
		}
		_, err := p.server.RestoreSnapshot(ctx, p.base)
		return err
	}
	objs, err := p.load(ctx)
	if err != nil {
		return err
	}
	if !p.keep {
		if _, err := p.server.RestoreSnapshot(ctx, p.bare); err != nil {
			return err
		}
	}
	return p.apply(ctx, objs)
}

// manifestPaths are the files and folders to watch for changes of manifests.
func (p *devPlane) manifestPaths() []string {
	return slices.Concat(p.crds, p.manifests.files, p.manifests.kustomize, p.inputs)
}

// isManifestPath reports whether a path is one of a manifest, or of a folder with some.
func (p *devPlane) isManifestPath(path string) bool {
	return containsPath(p.manifestPaths(), func(root string) bool { return isBelow(path, root) || isBelow(root, path) })
}

// isBelow reports whether a path is a folder or something in it.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
