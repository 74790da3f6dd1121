package ctrlplane

import (
	"context"
	"errors"
	"time"

	"github.com/ctrlplane/ctrlplane/health/settled"
)

// startSettleLimit is how long the work of the start may take to settle.
const startSettleLimit = 10 * time.Second

// excludeStart waits until the work of the start has settled, and marks its end. If it does not
// settle in time, what is left of it counts as later work.
func (p *controlPlane) excludeStart(ctx context.Context) error {
	switch err := settled.WaitForStart(ctx, p.observer, startSettleLimit); {
	case errors.As(err, new(*settled.BusyError)):
		p.warn("limits of conflicts and failed syncs include a part of the start: " + err.Error())
	case err != nil:
		return err
	}
	p.observer.MarkStartEnd()
	return nil
}
