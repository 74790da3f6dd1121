// Package stepping steps a paused controller until the control plane is settled: it
// releases the held writes one after the other.
package stepping

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	pollInterval   = 50 * time.Millisecond
	requiredChecks = 3 // that must find no work, with none in between
	horizon        = time.Second
)

// UntilSettled steps a controller until it has no held writes and the control plane is
// settled. It calls each with every write. The work of other paused controllers and clients
// does not count because their held writes stay held. If ctx reaches its deadline first, the
// error is a [*settled.BusyError].
func UntilSettled(ctx context.Context, gates control.Interventions, src settled.Source, name string, each func(*control.SteppedWrite) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var left []settled.Work
	for checks := 0; checks < requiredChecks; {
		held, err := gates.HeldWrites(ctx, name, 0)
		if err == nil && !held.Paused {
			return usage.Errorf("controller %s is not paused: pause it first", held.Controller)
		}
		var did bool
		if err == nil && held.Total > 0 {
			did, err = stepOne(ctx, gates, name, each)
		}
		if err == nil && !did {
			left, err = checkWork(ctx, src, held.Controller, &checks)
		}
		switch {
		case ctx.Err() != nil:
			return waitError(ctx, left)
		case err != nil:
			return err
		case did:
			checks = 0
			continue
		}
		select {
		case <-ctx.Done():
			return waitError(ctx, left)
		case <-ticker.C:
		}
	}
	return nil
}

func stepOne(ctx context.Context, gates control.Interventions, name string, each func(*control.SteppedWrite) error) (bool, error) {
	// Without a wait, in which the control plane may settle: another client may have stepped the write, or a
	// restore refused it.
	s, err := gates.StepHeld(ctx, name)
	if err != nil || s == nil {
		return false, err
	}
	return true, each(s)
}

// checkWork returns the remaining work except that of other paused controllers and
// clients, and counts the check if there is none.
func checkWork(ctx context.Context, src settled.Source, name string, checks *int) ([]settled.Work, error) {
	s, err := src.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(settled.RemainingWork(s, horizon), func(w settled.Work) bool { return w.Where != name && !w.IsRecent() && isPaused(s, w.Where, name) })
	switch {
	case len(left) > 0:
		*checks = 0
	case settled.HasBeenQuiet(s):
		*checks++
	default:
		left = settled.RecentActivity(s)
	}
	return left, nil
}

// isPaused reports whether who, a controller or a client, can finish its work only after
// another one than stepped is resumed.
func isPaused(s observe.Snapshot, who, stepped string) bool {
	for _, c := range s.Clients {
		switch reports := slices.Contains(c.Controllers, who); {
		case reports && c.Name == stepped: // its steps perform the writes of its controllers, too
			return false
		case (reports || c.Name == who) && c.State == observe.StatePaused:
			return true
		case c.Name == who && c.Held > 0 && int64(c.Held) == c.Writing: // its controllers are paused
			return true
		}
	}
	return slices.ContainsFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == who && c.State == observe.StatePaused })
}

func waitError(ctx context.Context, left []settled.Work) error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	return settled.NewBusyError(left, cause)
}
