package ctrlplane

import (
	"context"
	"errors"
	"path"

	"github.com/ctrlplane/ctrlplane/internal/encryption"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// checkInitialReadable fails if the API server of this start, which does not exist yet, could not read a state.
func (p *controlPlane) checkInitialReadable(state, _ snapshot.State) error {
	ctx, cancel := context.WithTimeout(context.Background(), encryption.DecryptTimeout)
	defer cancel()
	return encryption.CheckFor(ctx, p.etcdPrefix(), p.apiServerFlag("encryption-provider-config"), state)
}

// checkReadable fails if the API server could not read values of a state that are not stored already.
func (p *controlPlane) checkReadable(state, stored snapshot.State) error {
	ctx, cancel := context.WithTimeout(context.Background(), encryption.DecryptTimeout)
	defer cancel()
	return p.api.CheckReadable(ctx, state, stored)
}

// waitWhileReadable waits, and fails early if the API server cannot become ready because it cannot read what is stored.
func (p *controlPlane) waitWhileReadable(ctx context.Context, wait func(context.Context) error) error {
	err := p.newStartCheck(p.api.UnsyncedResources).Wait(ctx, wait)
	if errors.As(err, new(*encryption.UnreadableError)) {
		return usage.Errorf("the API server cannot become ready: %w", err)
	}
	return err
}

func (p *controlPlane) newStartCheck(awaited func() map[string]bool) encryption.StartCheck {
	return encryption.StartCheck{
		Awaited: awaited,
		Read: func(ctx context.Context, resourcePrefix string) (snapshot.State, error) {
			return p.etcd.server.ReadState(ctx, path.Join(p.etcdPrefix(), resourcePrefix), 0)
		},
		Check:  p.api.CheckReadable,
		Logger: p.log,
	}
}

// warnOfUnlisted says that controllers wait, and why: which values of the kinds that they need the API server cannot decrypt,
// or else the errors of the lists.
func (p *controlPlane) warnOfUnlisted(ctx context.Context, why string) {
	if err := p.newStartCheck(p.supervisor.UnsyncedResources).FindUnreadable(ctx); err != nil {
		why = err.Error()
	}
	p.warn("some kinds cannot be listed, and the controllers that need them wait: " + why)
}
