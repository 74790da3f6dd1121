package ctrlplane

import (
	"context"
	"log/slog"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *controlPlane) newSnapshotService() *snapshotservice.Service {
	return snapshotservice.New(snapshotservice.Config{
		Target:             p.snapshotTarget(),
		Store:              p.etcd.server,
		SharedStore:        p.config.Controllers.LeaderElect,
		SuspendNodes:       p.nodes.suspend,
		SuspendControllers: p.supervisor.Suspend,
		BlockWrites:        p.blockWrites,
		WaitInformers:      []func(context.Context, informersync.Revisions) error{p.api.WaitCaughtUp, p.supervisor.WaitInformersSynced},
		Client:             p.clientConfig(&user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}),
		Restored: func(message string) {
			p.observer.Append(&observe.Logged{Controller: "ctrlplane", Level: int(slog.LevelWarn), Message: message})
		},
		Logger: p.log,
	})
}

// blockWrites holds the writes of clients until release. Those that a client's pause or
// delay holds have to be refused, too: the client has not seen the restored state.
func (p *controlPlane) blockWrites(ctx context.Context) (release func(), err error) {
	open, err := p.api.HoldWrites(ctx)
	if err != nil {
		return nil, err
	}
	return func() {
		p.clients.RefuseWaiting(apiserver.ErrRestored)
		open()
	}, nil
}

// startSnapshots enables snapshots, and saves the current state for Reset. Without that
// state the control plane is usable, except for Reset.
func (p *controlPlane) startSnapshots(ctx context.Context) error {
	if err := p.snapshots.Started(ctx); err != nil {
		p.warn("reset will not work: " + err.Error())
	}
	return nil
}

func (p *controlPlane) closeSnapshots() error { return p.snapshots.Close() }
