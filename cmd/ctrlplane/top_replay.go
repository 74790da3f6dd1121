package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/observe/scrape"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// replayRecording plays a recording in the live view or on a page.
func (o *topCommand) replayRecording(cmd *cobra.Command) error {
	if err := o.replay.check(); err != nil {
		return err
	}
	if o.target.named() || o.metrics != (scrape.Options{}) {
		return usage.Errorf("--replay excludes --name, --data-dir and --metrics: a recording needs no control plane")
	}
	l, err := parseViewMode(o.ui)
	if err != nil {
		return err
	}
	if err := checkTheme(o.theme); err != nil {
		return err
	}
	if o.web.on && o.ui != "auto" && l != viewNone {
		return usage.Errorf("--replay with --web excludes --ui: the page plays the recording: leave the flag out")
	}
	if !o.web.on && l != viewLive {
		return usage.Errorf("--replay needs a terminal, or --web: \"status\", \"trace\" and \"why\" read a recording with --from without one")
	}
	recording, err := openRecording(o.replay.path)
	if err != nil {
		return err
	}
	var at *replay.Position
	if o.replay.at != "" {
		found, err := positionIn(recording, o.replay.at)
		if err != nil {
			return err
		}
		at = &found
	}
	if o.web.on {
		return o.servePlayer(cmd, recording, at)
	}
	_, err = live.Run(cmd.Context(), live.Options{
		In: os.Stdin, Out: os.Stdout, Environ: os.Environ(), Purpose: explain.Purpose, Attached: true, Theme: o.theme,
		Replay: recording, At: at,
	})
	return err
}

// servePlayer plays a recording on a page until interrupted. With a position it is paused
// there, as in the live view.
func (o *topCommand) servePlayer(cmd *cobra.Command, recording *replay.Recording, at *replay.Position) error {
	player := recording.Play(recording.Begin())
	if at != nil {
		player = recording.PausedAt(*at)
	}
	p, err := startPage(cmd.OutOrStdout(), o.web, web.Options{Player: player})
	if err != nil {
		return err
	}
	<-cmd.Context().Done()
	return p.Close()
}
