package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/scrape"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// topCommand has the flags of "ctrlplane top".
type topCommand struct {
	target  *target
	ui      string
	theme   string
	metrics scrape.Options
	web     webFlags
	replay  recordingFlags
}

const topHelp = `Open the live view of a running control plane. Several views can be open at the
same time; closing one does not affect the control plane.

With --metrics it shows the work queues of any process that serves workqueue_*
metrics, such as a controller-runtime manager or a remote kube-controller-manager.
Metrics only cover queues, so there is no feed of events.

With --web it serves a page for a projector instead, on a loopback address, until
interrupted: clients, kinds and controllers as a diagram in which keys move, with the
same interventions. The link opens the page once; --web-public adds one for a class.
With --ui plain or json it prints events, too, except those of a recording.

With --replay it plays a recording, of "run --report" or of "up --record": play, pause,
step by record, go to any time, at any speed.`

func newTopCommand(t *target) *cobra.Command {
	o := &topCommand{target: t}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch all work queues of a running control plane, or of any process with metrics",
		Long:  topHelp,
		Example: `  ctrlplane top
  ctrlplane top --name demo
  ctrlplane top --ui json | jq 'select(.kind == "called")'
  ctrlplane top --replay out/
  ctrlplane top --replay today.jsonl --at 12:30:05
  ctrlplane top --web
  ctrlplane top --web --web-public --read-only
  ctrlplane top --metrics http://localhost:8080/metrics
  ctrlplane top --metrics https://127.0.0.1:10257 --token-file token --ca-file ca.crt`,
		Args: rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.web.check(); err != nil {
				return err
			}
			if o.replay.given() {
				return o.replayRecording(cmd)
			}
			if o.web.on {
				return o.serveWeb(cmd)
			}
			return o.run(cmd.Context())
		},
	}
	f, m := cmd.Flags(), &o.metrics
	f.StringVar(&o.ui, "ui", "auto", uiFlagHelp)
	f.StringVar(&o.theme, "theme", "auto", themeFlagHelp)
	f.StringVar(&m.URL, "metrics", "", "URL of a process that serves workqueue_* metrics")
	f.StringVar(&m.TokenFile, "token-file", "", "file with a bearer token for --metrics")
	f.StringVar(&m.CAFile, "ca-file", "", "file with the CA of the server certificate of --metrics")
	f.StringVar(&m.CertFile, "cert-file", "", "file with a client certificate for --metrics")
	f.StringVar(&m.KeyFile, "key-file", "", "file with the key of the client certificate")
	o.web.add(f)
	o.replay.addReplay(f)
	f.BoolVar(&m.Insecure, "insecure-skip-tls-verify", false, "do not verify the server certificate of --metrics")
	return cmd
}

func (o *topCommand) run(ctx context.Context) error {
	l, err := parseViewMode(o.ui)
	if err != nil {
		return err
	}
	if err := checkTheme(o.theme); err != nil {
		return err
	}
	src, after, err := o.openSource(ctx)
	if err != nil {
		return err
	}
	view := live.Options{Attached: true, Theme: o.theme, Out: endableStdout(ctx)}
	end := func() error { return nil }
	if plane, ok := src.(viewSource); ok {
		page, err := o.pageSource(plane)
		if err != nil {
			return err
		}
		if end, err = l.addPage(&view, page, false, nil); err != nil {
			return err
		}
	}
	_, err = l.showSource(ctx, src, after, view)
	return errors.Join(err, end())
}

// pageSource adds what only the page for a projector needs.
func (o *topCommand) pageSource(src viewSource) (pageSource, error) {
	client, err := o.target.controlClient()
	if err != nil {
		return pageSource{}, err
	}
	facts := func(ctx context.Context) (explain.Facts, error) { return gatherFacts(ctx, o.target) }
	return pageSource{viewSource: src, speed: client.SpeedControl(), facts: facts}, nil
}

// openSource connects to the process to watch, so that errors show before the view
// opens.
func (o *topCommand) openSource(ctx context.Context) (observe.Source, uint64, error) {
	if o.metrics.URL == "" {
		if m := o.metrics; m != (scrape.Options{}) {
			return nil, 0, usage.Errorf("--token-file, --ca-file, --cert-file, --key-file and --insecure-skip-tls-verify need --metrics: add it, or leave them out")
		}
		src, s, err := o.target.connectView(ctx)
		return src, s.Journal.Last, err
	}
	if o.target.named() {
		return nil, 0, usage.Errorf("--metrics excludes --name and --data-dir: use one of them")
	}
	if err := scrape.CheckAddress(o.metrics.URL); err != nil {
		return nil, 0, usage.Errorf("--metrics: %w", err)
	}
	o.metrics.Timeout = 5 * time.Second
	src, err := scrape.New(o.metrics)
	if err != nil {
		return nil, 0, usage.Errorf("%w", err)
	}
	_, err = src.Snapshot(ctx)
	return src, 0, err
}

// serveWeb serves the page until interrupted.
func (o *topCommand) serveWeb(cmd *cobra.Command) error {
	if o.metrics != (scrape.Options{}) {
		return usage.Errorf("--web excludes --metrics with its flags: use one of them")
	}
	view, out := viewNone, cmd.OutOrStdout() // the page is shown instead of the live view
	if o.ui != "auto" {
		var err error
		if view, err = parseViewMode(o.ui); err != nil {
			return err
		}
	}
	if view == viewJSON {
		out = stderr // stdout has only records
	}
	ctx := cmd.Context()
	src, now, err := o.target.connectView(ctx)
	if err != nil {
		return err
	}
	page, err := o.pageSource(src)
	if err != nil {
		return err
	}
	p, err := startPage(out, o.web, page.options())
	if err != nil {
		return err
	}
	_, err = view.showSource(ctx, src, now.Journal.Last, live.Options{Out: endableStdout(ctx)})
	return errors.Join(err, p.Close())
}
