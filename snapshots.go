package ctrlplane

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *controlPlane) newSnapshotService() *snapshotservice.Service {
	target := p.snapshotTarget()
	target.CheckReadable = p.checkReadable
	return snapshotservice.New(snapshotservice.Config{
		Target:             target,
		Store:              p.etcd.server,
		SharedStore:        p.config.Controllers.LeaderElect,
		Refused:            p.checkSnapshots(),
		SuspendNodes:       p.nodes.suspend,
		SuspendControllers: p.supervisor.Suspend,
		BlockWrites:        p.blockWrites,
		EstablishPolicy:    p.api.EstablishPolicy,
		WaitInformers:      []func(context.Context, informersync.Revisions) error{p.api.WaitCaughtUp, p.supervisor.WaitInformersSynced},
		WaitSettled:        func(ctx context.Context) error { return settled.Wait(ctx, p.observer, 0, nil) },
		Client:             p.readerConfig(),
		Changed: func(list []snapshotservice.Change) {
			p.observer.ForgetFailures()
			for _, c := range list {
				p.recordRestored(c)
			}
		},
		Restored: func(message string, failed bool) {
			level := slog.LevelInfo
			if failed {
				level = slog.LevelWarn
			}
			p.observer.Append(&observe.Logged{Controller: observe.Own, Level: int(level), Message: message})
		},
		Logger: p.log,
	})
}

// recordRestored records what a restore has done to an object, as a call: nothing else says
// who has made that version. Leases and Events do not enter the causes.
func (p *controlPlane) recordRestored(c snapshotservice.Change) {
	resource := c.Key.Resource()
	if resource == "" || c.Key.ResourcePrefix == storekeys.Leases || c.Key.ResourcePrefix == storekeys.Events {
		return
	}
	w := observe.Written{
		Resource: resource, Namespace: c.Key.Namespace(), Name: c.Key.Name(),
		ResourceVersion: strconv.FormatInt(c.Revision, 10), Deleted: c.Deleted,
	}
	call := &observe.Called{
		Controller: observe.Own, Verb: observe.VerbRestore, Status: http.StatusOK, Began: c.Began, Took: time.Since(c.Began),
		Object: observe.Object{Namespace: w.Namespace, Name: w.Name}, ResourceVersion: w.ResourceVersion, Wrote: []observe.Written{w},
		Client: &observe.Caller{},
	}
	call.Object.Resource, call.Object.Group, _ = strings.Cut(resource, ".")
	call.Object.Kind, call.Object.UID, _ = snapshot.Identify(c.Value)
	p.observer.Append(call)
}

// blockWrites blocks the writes of clients until release. If the state was restored, those
// that a client's pause or delay holds have to be refused, too: the client has not seen it. What it had seen before has no effects.
func (p *controlPlane) blockWrites(ctx context.Context) (release func(restored bool), err error) {
	open, err := p.api.BlockWrites(ctx)
	if err != nil {
		return nil, err
	}
	blocked := time.Now()
	return func(restored bool) {
		if restored {
			p.clients.NoteRestored(blocked)
			p.clients.RefuseWaiting(apiserver.ErrRestored)
		}
		open(restored)
	}, nil
}

// startSnapshots enables snapshots. What Reset restores is determined from now on: see
// snapshotservice.Service.Started. If that fails, the control plane is usable, except for Reset.
func (p *controlPlane) startSnapshots(ctx context.Context) error {
	if err := p.snapshots.Started(ctx); err != nil {
		p.warn("reset will not work: " + err.Error())
	}
	p.startState.Store(p.snapshots)
	return nil
}

func (p *controlPlane) closeSnapshots() error { return p.snapshots.Close() }
