package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/creack/pty"
)

// attachedView is the live view of a control plane in a pseudo terminal.
type attachedView struct {
	controlPlane // the process of the view
	screen       *os.File
	drawn        atomic.Int64 // in bytes
}

// attachView starts the view of the control plane in a working directory and returns when
// it has drawn something.
func (o options) attachView(ctx context.Context, r *workDir) (*attachedView, error) {
	screen, terminal, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer terminal.Close() // the child process has its own copy
	v := &attachedView{screen: screen}
	cmd := r.command(o.ctrlplane, "top", "--data-dir", r.join("data"))
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.Stdin, cmd.Stdout = terminal, terminal
	if err := v.start(cmd); err != nil {
		return nil, errors.Join(err, screen.Close())
	}
	go v.drainOutput()
	err = v.whileRunning(ctx, startTimeout, func(ctx context.Context) error {
		return pollUntil(ctx, pollInterval, v.checkDrawn)
	})
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// openTerminal returns both ends of a pseudo terminal, or of a pipe, to which top prints
// lines, where the system has none.
func openTerminal() (screen, terminal *os.File, err error) {
	screen, terminal, err = pty.Open()
	if errors.Is(err, pty.ErrUnsupported) {
		return os.Pipe()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	if err := pty.Setsize(screen, &pty.Winsize{Rows: 50, Cols: 160}); err != nil {
		return nil, nil, errors.Join(err, screen.Close(), terminal.Close())
	}
	return screen, terminal, nil
}

// drainOutput reads the output until the view ends.
func (v *attachedView) drainOutput() {
	buf := make([]byte, 64<<10)
	for {
		n, err := v.screen.Read(buf)
		v.drawn.Add(int64(n))
		if err != nil {
			return
		}
	}
}

func (v *attachedView) checkDrawn(context.Context) error {
	if v.drawn.Load() == 0 {
		return errors.New("the view has drawn nothing")
	}
	return nil
}

// close may be called several times, and for a nil view.
func (v *attachedView) close() {
	if v == nil {
		return
	}
	v.kill()
	_ = v.screen.Close() // it was only read
}

// measureBurstWithView measures a burst and, if a view is attached, its CPU time.
func (m *measurement) measureBurstWithView(ctx context.Context, a *apiClient, b burst) error {
	v := m.view
	if v == nil {
		return m.measureBurst(ctx, a, b)
	}
	cpu, drawn := v.startCPUTimer(), v.drawn.Load()
	err := v.whileRunning(ctx, m.timeout, func(ctx context.Context) error { return m.measureBurst(ctx, a, b) })
	if err != nil {
		return err
	}
	if v.drawn.Load() == drawn {
		return errors.New("the view has drawn nothing during the burst")
	}
	return m.recordCPU(b.metricKey("cpuView"), cpu)
}
