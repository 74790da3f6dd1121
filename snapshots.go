package ctrlplane

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/apiserver"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *controlPlane) newSnapshotService() *snapshotservice.Service {
	return snapshotservice.New(snapshotservice.Config{
		Target:             p.snapshotTarget(),
		Store:              p.etcd.server,
		SharedStore:        p.config.Controllers.LeaderElect,
		Refused:            p.checkSnapshots(),
		SuspendNodes:       p.nodes.suspend,
		SuspendControllers: p.supervisor.Suspend,
		BlockWrites:        p.blockWrites,
		EstablishPolicy:    p.api.EstablishPolicy,
		WaitInformers:      []func(context.Context, informersync.Revisions) error{p.api.WaitCaughtUp, p.supervisor.WaitInformersSynced},
		WaitSettled:        func(ctx context.Context) error { return settled.Wait(ctx, p.observer, 0, nil) },
		Client:             p.clientConfig(&user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}),
		Changed: func(list []snapshotservice.Change) {
			p.observer.ForgetFailures()
			for _, c := range list {
				p.recordRestored(c)
			}
		},
		Restored: func(message string) {
			p.observer.Append(&observe.Logged{Controller: observe.Own, Level: int(slog.LevelWarn), Message: message})
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
// that a client's pause or delay holds have to be refused, too: the client has not seen it.
func (p *controlPlane) blockWrites(ctx context.Context) (release func(restored bool), err error) {
	open, err := p.api.BlockWrites(ctx)
	if err != nil {
		return nil, err
	}
	return func(restored bool) {
		if restored {
			p.clients.RefuseWaiting(apiserver.ErrRestored)
		}
		open(restored)
	}, nil
}

// startSnapshots enables snapshots, and saves the current state for Reset. Without that
// state the control plane is usable, except for Reset.
func (p *controlPlane) startSnapshots(ctx context.Context) error {
	if err := p.snapshots.Started(ctx); err != nil {
		p.warn("reset will not work: " + err.Error())
	}
	p.startState.Store(p.snapshots)
	return nil
}

// handleOutside handles a request from outside of the process. What the first one changes
// is undone by a reset.
func (p *controlPlane) handleOutside(w http.ResponseWriter, req *http.Request, who user.Info, next http.Handler) {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
	if s := p.startState.Load(); s != nil && !reads && who != nil && req.URL.Path != controlrest.ResetPath {
		s.BeforeChange(req.Context())
	}
	p.clients.Handle(w, req, who, next)
}

// isRestore reports whether a request restores a state, which has limits of its own.
func isRestore(req *http.Request) bool {
	path, method := req.URL.Path, req.Method
	return path == controlrest.StatePath && method == http.MethodPut || path == controlrest.ResetPath && method == http.MethodPost
}

func (p *controlPlane) closeSnapshots() error { return p.snapshots.Close() }
