package ctrlplane

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/encryption"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	// readableDelay is how long the API server may take to become ready before what is stored is checked:
	// it usually takes less than a second.
	readableDelay = 3 * time.Second
	// decryptTimeout bounds the decryption of a state, which may ask plugins for keys.
	decryptTimeout = 30 * time.Second
)

// checkInitialReadable fails if the API server of this start, which does not exist yet, could not read a state.
func (p *controlPlane) checkInitialReadable(state, _ snapshot.State) error {
	ctx, cancel := context.WithTimeout(context.Background(), decryptTimeout)
	defer cancel()
	return encryption.CheckFor(ctx, p.etcdPrefix(), p.apiServerFlag("encryption-provider-config"), state)
}

// checkReadable fails if the API server could not read values of a state that are not stored already.
func (p *controlPlane) checkReadable(state, stored snapshot.State) error {
	ctx, cancel := context.WithTimeout(context.Background(), decryptTimeout)
	defer cancel()
	return p.api.CheckReadable(ctx, state, stored)
}

// waitWhileReadable waits, and fails early if the API server cannot become ready because it cannot read what is stored.
func (p *controlPlane) waitWhileReadable(ctx context.Context, wait func(context.Context) error) error {
	waiting, cancel := context.WithCancelCause(ctx)
	var check sync.WaitGroup
	check.Go(func() {
		delay := time.NewTimer(readableDelay)
		defer delay.Stop()
		select {
		case <-waiting.Done():
			return
		case <-delay.C:
		}
		if err := p.findUnreadable(waiting); err != nil {
			cancel(err)
		}
	})
	err := wait(waiting)
	cancel(nil)
	check.Wait()
	if err == nil {
		return nil
	}
	cause := context.Cause(waiting)
	if !isUnreadable(cause) && ctx.Err() == nil { // it has failed before the check, as without the bootstrap policy
		cause = p.findUnreadable(ctx)
	}
	if isUnreadable(cause) {
		return usage.Errorf("the API server cannot become ready: %w", cause)
	}
	return err
}

func isUnreadable(err error) bool { return errors.As(err, new(*encryption.UnreadableError)) }

// findUnreadable returns an *encryption.UnreadableError for stored values of resources that the API server
// waits for and cannot read.
func (p *controlPlane) findUnreadable(ctx context.Context) error {
	state, err := p.etcd.server.ReadState(ctx, p.etcdPrefix(), 0)
	if err != nil {
		p.log.Warn("stored values are not checked", "err", err)
		return nil
	}
	awaited := p.api.UnsyncedResources()
	state.Entries = slices.DeleteFunc(state.Entries, func(e snapshot.Entry) bool { return !awaited[storekeys.ResourcePrefix(e.Key)] })
	return p.api.CheckReadable(ctx, state, snapshot.State{})
}
