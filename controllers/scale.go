package controllers

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// maxWorkers protects from a mistyped number: each worker is a goroutine.
const maxWorkers = 1000

// scaledConfig is the configuration of a controller that was scaled.
type scaledConfig struct {
	config         *managerConfig
	of, configured int // the number of workers that was asked for, and the one that the flags say
}

func (i interventions) scale(ctx context.Context, names []string, workers int) ([]string, error) {
	list, err := i.resolveNames(names, nil)
	if err != nil {
		return nil, err
	}
	if workers < 1 || workers > maxWorkers {
		return nil, usage.Errorf("%d workers: choose 1 to %d", workers, maxWorkers)
	}
	configs := make([]*scaledConfig, len(list))
	for n, name := range list {
		if configs[n], err = i.s.scaledConfigFor(name, workers); err != nil {
			return nil, err
		}
	}
	unlock, err := i.s.lockResumed(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return list, i.s.restartUnits(list, configs)
}

// scaledConfigFor returns the configuration with that number of workers; nil if
// that is the configured number.
func (s *Supervisor) scaledConfigFor(name string, workers int) (*scaledConfig, error) {
	facts := upstreamFacts[name]
	if facts.flag == "" {
		return nil, usage.Errorf("controller %s: its number of workers is fixed: upstream has no flag for it", name)
	}
	configured := int(facts.workers(s.config))
	if workers == configured {
		return nil, nil
	}
	cfg := s.cfg
	cfg.Args = append(cfg.Args[:len(cfg.Args):len(cfg.Args)], fmt.Sprintf("%s=%d", facts.flag, workers))
	config, err := cfg.componentConfig() // applies upstream's validation
	if err != nil {
		return nil, err
	}
	return &scaledConfig{config, workers, configured}, nil
}

// restartUnits restarts running controllers with other configurations. The caller holds the lock.
func (s *Supervisor) restartUnits(list []string, configs []*scaledConfig) error {
	if s.informers == nil || s.closed {
		return errNotStarted
	}
	for _, name := range list {
		if state := s.units[name].status().State; !state.isRunning() {
			return usage.Errorf("controller %s: it is %s: start it first", name, state)
		}
	}
	defer s.beginSuspension(restarting)()
	var errs []error
	for i, name := range list {
		errs = append(errs, s.restartUnit(s.units[name], configs[i]))
	}
	return errors.Join(errs...)
}

// restartUnit keeps the settings of the gate of the unit. Writes that are held are
// refused, as the workers that wait for them stop. The caller holds the lock.
func (s *Supervisor) restartUnit(u *unit, config *scaledConfig) error {
	kept := u.currentGate().Interventions()
	if err := u.stop(); err != nil {
		return err
	}
	u.scaled.Store(config)
	return s.startUnit(s.informers.ctx, u.name, kept)
}
