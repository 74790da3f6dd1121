package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// meter measures one run.
type meter struct {
	options
	plane  *plane
	room   *room
	view   *view              // nil = nobody looks
	values map[string]float64 // by the key of the metric; what the system does not tell is left out
}

// measure runs the parts of a contestant that have the same place once, in a
// room of their own.
func (o options) measure(ctx context.Context, c contestant, at place, list []part, r *room) (map[string]float64, error) {
	m := &meter{options: o, room: r, values: map[string]float64{}}
	if at == alone {
		return m.values, m.do(ctx, nil, list)
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, r); err != nil {
			return nil, fmt.Errorf("the start before: %w", err)
		}
	}
	var err error
	if m.plane, err = c.launch(ctx, r); err != nil {
		return nil, err
	}
	defer m.plane.kill()
	a, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	if at != here { // its start is no sample
		clear(m.values)
	}
	if c.look != nil {
		if m.view, err = c.look(ctx, r); err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
		defer m.view.close()
	}
	if err := m.do(ctx, a, list); err != nil {
		return nil, err
	}
	a.close()
	m.view.close()
	if at != here {
		_, err := m.plane.stop(ctx)
		return m.values, err
	}
	if err := m.end(ctx); err != nil {
		return nil, err
	}
	return m.values, m.binaries(c.binaries)
}

// do measures parts. The error says which one failed.
func (m *meter) do(ctx context.Context, a *api, list []part) error {
	for _, p := range list {
		if p.do == nil {
			continue
		}
		do := func(ctx context.Context) error { return p.do(m, ctx, a) }
		var err error
		if m.plane == nil {
			err = bounded(ctx, m.idle+m.timeout, do)
		} else {
			err = m.plane.within(ctx, m.idle+m.timeout, do)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func bounded(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, stop := bound(ctx, d)
	defer stop()
	return do(ctx)
}

func (m *meter) start(ctx context.Context) (a *api, err error) {
	var s started
	err = m.plane.within(ctx, startTimeout, func(ctx context.Context) error {
		if a, err = m.plane.connect(ctx); err != nil {
			return err
		}
		s, err = a.awaitStart(ctx, m.plane.began, "bench")
		return err
	})
	if err != nil {
		return nil, err
	}
	cpu, err := m.plane.cpu()
	m.seconds("ready", s.ready)
	m.seconds("acts", s.acts)
	m.seconds("usable", max(s.ready, s.acts))
	return a, m.told("cpuStart", cpu.Seconds(), err)
}

// leaveAlone waits, and measures what an idle control plane takes.
func (m *meter) leaveAlone(ctx context.Context) error {
	var used [2]time.Duration
	var errs [2]error
	for i := range used {
		if err := pause(ctx, m.idle/2); err != nil {
			return err
		}
		used[i], errs[i] = m.plane.cpu()
	}
	if err := m.told("cpuLate", used[0].Seconds(), errs[0]); err != nil {
		return err
	}
	percent := 100 * (used[1] - used[0]).Seconds() / (m.idle / 2).Seconds()
	if err := m.told("cpuIdle", percent, errors.Join(errs[:]...)); err != nil {
		return err
	}
	mem, err := m.plane.memory()
	for key, bytes := range map[string]float64{"rss": mem.rss, "rssAnon": mem.anon, "rssFile": mem.file(), "pss": mem.pss} {
		if err := m.told(key, bytes/mebi, err); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) burst(ctx context.Context, a *api, b burst) error {
	cpu := m.plane.stopwatch()
	got, err := b.run(ctx, a)
	if err != nil {
		return err
	}
	m.seconds(b.key("pods"), got.pods)
	m.seconds(b.key("settled"), got.settled)
	used, err := cpu()
	if err := m.told(b.key("cpu"), used.Seconds(), err); err != nil {
		return err
	}
	return m.rss(b.key("rss"))
}

// rss measures what is resident now.
func (m *meter) rss(key string) error {
	mem, err := m.plane.memory()
	return m.told(key, mem.rss/mebi, err)
}

func (m *meter) end(ctx context.Context) error {
	took, err := m.plane.stop(ctx)
	if err != nil {
		return err
	}
	m.seconds("stop", took)
	m.seconds("cpuAll", m.plane.cpuTotal())
	return nil
}

func (m *meter) binaries(paths []string) error {
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

func (m *meter) seconds(key string, d time.Duration) { m.values[key] = d.Seconds() }

// told keeps a value that not every system tells.
func (m *meter) told(key string, value float64, err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err == nil {
		m.values[key] = value
	}
	return err
}
