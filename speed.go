package ctrlplane

import (
	"context"
	"log/slog"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// recordedPace is the pace of a control plane that records when its speed changes.
type recordedPace struct {
	*intervene.Pace
	plane *controlPlane
}

var _ control.SpeedControl = recordedPace{}

// SetSpeed implements control.SpeedControl. A sync waits once, which only its record can
// tell.
func (r recordedPace) SetSpeed(ctx context.Context, s observe.Speed) error {
	if r.plane.config.Observe.Records < 0 {
		return usage.Errorf("speed %q: the control plane observes nothing: start it without --observe-records=-1", string(s))
	}
	if err := r.plane.checkLeader(); err != nil {
		return err
	}
	before := r.Speed()
	if err := r.Pace.SetSpeed(ctx, s); err != nil {
		return err
	}
	if s != before {
		r.plane.observer.Append(&observe.Logged{
			Controller: observe.Own, Level: int(slog.LevelInfo), Message: "speed: " + s.String() + ", was " + before.String(),
			Attrs: []observe.Attr{{Key: "speed", Value: string(s)}},
		})
	}
	return nil
}

// StepKey implements control.SpeedControl.
func (r recordedPace) StepKey(ctx context.Context) (*control.ReleasedKey, error) {
	if err := r.plane.checkLeader(); err != nil {
		return nil, err
	}
	return r.Pace.StepKey(ctx)
}

// speedControl returns what sets the speed.
func (p *controlPlane) speedControl() control.SpeedControl { return recordedPace{p.pace, p} }

// currentSpeed returns the speed; empty if it cannot be set.
func (p *controlPlane) currentSpeed() observe.Speed {
	if p.config.Observe.Records < 0 {
		return ""
	}
	return p.pace.Speed()
}

// SpeedControl returns what sets how fast the controllers, the scheduler and the simulated
// kubelets work; nil before Start has succeeded.
func (s *Server) SpeedControl() control.SpeedControl {
	if p := s.readyInstance(); p != nil {
		return p.speedControl()
	}
	return nil
}
