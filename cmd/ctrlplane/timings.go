package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/birth"
	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// mainBegan is set when all packages have been initialised, just before main.
var mainBegan = time.Now()

// moments are those of the start that has just succeeded.
func moments() ui.Moments {
	born, _ := birth.Time() // where the system does not tell, all counts from main
	return ui.Moments{Born: born, Main: mainBegan, Ready: time.Now()}
}

// timings say where the time of the start went.
func (u *up) timings(ctx context.Context, m ui.Moments) (t ui.Timings, err error) {
	usage, err := procstat.NewMeter().Usage()
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	page, err := u.server.Observer().Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindBootStep}})
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	return ui.NewTimings(m, usage.CPU, page.Records), nil
}

// showTimings tells them on the screen, or as further records.
func (u *up) showTimings(ctx context.Context, v *session) error {
	m := moments()
	if v.look == lookJSON {
		for _, e := range m.Records() {
			u.server.Observer().Append(e)
		}
		return nil
	}
	t, err := u.timings(ctx, m)
	if err != nil {
		return err
	}
	v.progress.Print("\n" + ui.RenderTimings(v.mode, t) + "\n")
	return nil
}

// tellTimings writes them.
func (u *up) tellTimings(ctx context.Context, w io.Writer, mode ui.Mode) error {
	t, err := u.timings(ctx, moments())
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, ui.RenderTimings(mode, t))
	return err
}
