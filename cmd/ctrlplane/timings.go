package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/birth"
	"github.com/ctrlplane/ctrlplane/internal/self"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// mainBegan is set when all packages have been initialised, just before main.
var mainBegan = time.Now()

// timings are those of the start that has just succeeded.
func (u *up) timings(ctx context.Context) (t ui.Timings, err error) {
	m := ui.Moments{Main: mainBegan, Ready: time.Now()}
	usage, err := self.NewMeter().Usage()
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	// Where the system does not tell, all counts from main.
	m.Born, _ = birth.Time()
	page, err := u.server.Observer().Records(ctx, observe.Query{Kinds: []observe.Kind{observe.KindBootStep}})
	if err != nil {
		return t, fmt.Errorf("--timings: %w", err)
	}
	return ui.NewTimings(m, usage.CPU, page.Records), nil
}

// showTimings says where the time of the start went: on the screen, or as further
// records.
func (u *up) showTimings(ctx context.Context, v *session) error {
	t, err := u.timings(ctx)
	if err != nil {
		return err
	}
	if v.look == lookJSON {
		for _, e := range t.Records() {
			u.server.Observer().Append(e)
		}
	}
	v.progress.Print(ui.RenderTimings(v.mode, t))
	return nil
}

// tellTimings writes where the time of the start went.
func (u *up) tellTimings(ctx context.Context, w io.Writer, mode ui.Mode) error {
	t, err := u.timings(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, ui.RenderTimings(mode, t))
	return err
}
