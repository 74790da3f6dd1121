package encryption

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const (
	// checkDelay is how long an API server may take to become ready before what is stored is checked: it usually takes
	// less than a second.
	checkDelay = 3 * time.Second
	// DecryptTimeout bounds the check of a state, which may ask plugins for keys.
	DecryptTimeout = 30 * time.Second
)

// StartCheck finds out that an API server cannot become ready because it cannot read what is stored.
type StartCheck struct {
	// Awaited returns the prefixes of the resources that are awaited, as those without which the API server does not become ready.
	Awaited func() map[string]bool
	// Read returns what is stored below the prefix of a resource, with keys that lack that prefix.
	Read func(ctx context.Context, resourcePrefix string) (snapshot.State, error)
	// Check is [Reader.Check] of the API server.
	Check  func(ctx context.Context, state, stored snapshot.State) error
	Logger *slog.Logger
}

// Wait calls wait. It cancels wait and returns an [*UnreadableError] if there are values that keep the API server from
// becoming ready.
func (c StartCheck) Wait(ctx context.Context, wait func(context.Context) error) error {
	waiting, cancel := context.WithCancelCause(ctx)
	var check sync.WaitGroup
	check.Go(func() {
		delay := time.NewTimer(checkDelay)
		defer delay.Stop()
		select {
		case <-waiting.Done():
			return
		case <-delay.C:
		}
		if err := c.FindUnreadable(waiting); err != nil {
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
		cause = c.FindUnreadable(ctx)
	}
	if isUnreadable(cause) {
		return cause
	}
	return err
}

func isUnreadable(err error) bool { return errors.As(err, new(*UnreadableError)) }

// FindUnreadable returns an [*UnreadableError] for values of the awaited resources that the API server cannot read.
func (c StartCheck) FindUnreadable(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, DecryptTimeout)
	defer cancel()
	state, err := c.readEncrypted(limited)
	if err != nil {
		if ctx.Err() == nil { // else the API server is ready, or the start has ended
			c.Logger.Warn("stored values are not checked", "err", err)
		}
		return nil
	}
	return c.Check(limited, state, snapshot.State{})
}

// readEncrypted returns the encrypted values that the API server waits for.
func (c StartCheck) readEncrypted(ctx context.Context) (encrypted snapshot.State, err error) {
	for _, prefix := range slices.Sorted(maps.Keys(c.Awaited())) {
		state, err := c.Read(ctx, prefix)
		if err != nil {
			return encrypted, err
		}
		for _, e := range state.Entries {
			if isEncrypted(e.Value) {
				e.Key = "/" + prefix + e.Key
				encrypted.Entries = append(encrypted.Entries, e)
			}
		}
	}
	return encrypted, nil
}
