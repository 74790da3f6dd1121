package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// mainStart is set after all packages have been initialised, just before main.
var mainStart = time.Now()

// startMoments returns the moments of the start that has just succeeded.
func startMoments() ui.StartTimes {
	born, _ := procstat.StartTime() // if it is unknown, times count from main
	return ui.StartTimes{Process: born, Main: mainStart, Ready: time.Now()}
}

// collectTimings measures where the time of the start went.
func (u *upCommand) collectTimings(ctx context.Context, m ui.StartTimes) (t ui.Timings, err error) {
	usage, err := procstat.NewMeter().Measure()
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	page, err := u.server.Observer().Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindBootStep}})
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	return ui.NewTimings(m, usage.CPU, page.Records), nil
}

// showTimings prints the timings, or appends them as records.
func (u *upCommand) showTimings(ctx context.Context, v *session) error {
	m := startMoments()
	if v.view == viewJSON {
		for _, e := range m.BootSteps() {
			u.server.Observer().Append(e)
		}
		return nil
	}
	t, err := u.collectTimings(ctx, m)
	if err != nil {
		return err
	}
	v.progress.Print("\n" + ui.RenderTimings(v.mode, t) + "\n")
	return nil
}

func (u *upCommand) writeTimings(ctx context.Context, w io.Writer, mode ui.Mode) error {
	t, err := u.collectTimings(ctx, startMoments())
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, ui.RenderTimings(mode, t))
	return err
}
