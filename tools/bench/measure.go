package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// measurement measures one run.
type measurement struct {
	options
	controlPlane *controlPlane
	workDir      *workDir
	view         *attachedView      // nil = no view
	values       map[string]float64 // by the key of the metric, without those that the system does not support
}

// measure runs the given parts, which have the same location, once in a working
// directory of their own.
func (o options) measure(ctx context.Context, c contestant, at location, list []part, r *workDir) (map[string]float64, error) {
	m := &measurement{options: o, workDir: r, values: map[string]float64{}}
	if at == standalone {
		return m.values, m.runParts(ctx, nil, list)
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, r); err != nil {
			return nil, fmt.Errorf("preparing start: %w", err)
		}
	}
	var err error
	if m.controlPlane, err = c.launch(ctx, r); err != nil {
		return nil, err
	}
	defer m.controlPlane.kill()
	a, err := m.measureStart(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if at != inMeasured { // the start belongs to another location
		clear(m.values)
	}
	if c.attachView != nil {
		if m.view, err = c.attachView(ctx, r); err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
		defer m.view.close()
	}
	if err := m.runParts(ctx, a, list); err != nil {
		return nil, err
	}
	a.close()
	m.view.close()
	if at != inMeasured {
		_, err := m.controlPlane.stop(ctx)
		return m.values, err
	}
	if err := m.measureStop(ctx); err != nil {
		return nil, err
	}
	return m.values, m.measureBinaries(c.binaries)
}

// runParts measures the given parts. The error names the one that failed.
func (m *measurement) runParts(ctx context.Context, a *apiClient, list []part) error {
	for _, p := range list {
		if p.measure == nil {
			continue
		}
		do := func(ctx context.Context) error { return p.measure(m, ctx, a) }
		var err error
		if m.controlPlane == nil {
			err = runWithTimeout(ctx, m.idle+m.timeout, do)
		} else {
			err = m.controlPlane.whileRunning(ctx, m.idle+m.timeout, do)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func runWithTimeout(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, stop := withTimeout(ctx, d)
	defer stop()
	return do(ctx)
}

func (m *measurement) measureStart(ctx context.Context) (a *apiClient, err error) {
	var s startTimes
	err = m.controlPlane.whileRunning(ctx, startTimeout, func(ctx context.Context) error {
		if a, err = m.controlPlane.newAPIClient(ctx); err != nil {
			return err
		}
		s, err = a.awaitStart(ctx, m.controlPlane.began, "bench")
		return err
	})
	if err != nil {
		return nil, err
	}
	cpu, err := m.controlPlane.cpuUsed()
	m.recordSeconds("ready", s.ready)
	m.recordSeconds("acts", s.controllersAct)
	m.recordSeconds("usable", max(s.ready, s.controllersAct))
	return a, m.recordIfSupported("cpuStart", cpu.Seconds(), err)
}

// measureIdle waits and measures CPU and memory of the idle control plane.
func (m *measurement) measureIdle(ctx context.Context) error {
	var used [2]time.Duration
	var errs [2]error
	for i := range used {
		if err := sleepContext(ctx, m.idle/2); err != nil {
			return err
		}
		used[i], errs[i] = m.controlPlane.cpuUsed()
	}
	if err := m.recordIfSupported("cpuLate", used[0].Seconds(), errs[0]); err != nil {
		return err
	}
	percent := 100 * (used[1] - used[0]).Seconds() / (m.idle / 2).Seconds()
	if err := m.recordIfSupported("cpuIdle", percent, errors.Join(errs[:]...)); err != nil {
		return err
	}
	mem, err := m.controlPlane.memory()
	for key, bytes := range map[string]float64{"rss": mem.rss, "rssAnon": mem.anon, "rssFile": mem.fileBacked(), "pss": mem.pss} {
		if err := m.recordIfSupported(key, bytes/mebi, err); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) measureBurst(ctx context.Context, a *apiClient, b burst) error {
	cpu := m.controlPlane.startCPUTimer()
	got, err := b.runUntilCreated(ctx, a, b.namespace())
	if err != nil {
		return err
	}
	m.recordSeconds(b.metricKey("pods"), got.pods)
	m.recordSeconds(b.metricKey("settled"), got.settled)
	if err := m.recordCPU(b.metricKey("cpu"), cpu); err != nil {
		return err
	}
	return m.recordRSS(b.metricKey("rss"))
}

// recordCPU records what a timer of startCPUTimer returns.
func (m *measurement) recordCPU(key string, timer func() (time.Duration, error)) error {
	used, err := timer()
	return m.recordIfSupported(key, used.Seconds(), err)
}

// recordRSS records the resident memory.
func (m *measurement) recordRSS(key string) error {
	mem, err := m.controlPlane.memory()
	return m.recordIfSupported(key, mem.rss/mebi, err)
}

func (m *measurement) measureStop(ctx context.Context) error {
	took, err := m.controlPlane.stop(ctx)
	if err != nil {
		return err
	}
	m.recordSeconds("stop", took)
	m.recordSeconds("cpuAll", m.controlPlane.totalCPU())
	return nil
}

func (m *measurement) measureBinaries(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		m.values["binary"] += float64(info.Size()) / 1e6
	}
	return nil
}

const mebi = 1 << 20

func (m *measurement) recordSeconds(key string, d time.Duration) { m.values[key] = d.Seconds() }

// recordIfSupported records a value unless the system does not support it.
func (m *measurement) recordIfSupported(key string, value float64, err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err == nil {
		m.values[key] = value
	}
	return err
}
