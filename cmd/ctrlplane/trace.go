package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ctrlplane/ctrlplane/internal/cliargs"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// traceFlags has the flags of "trace" and "why".
type traceFlags struct {
	target    *target
	namespace string
	output    *outputFlag
	options   trace.Options
	past      recordingFlags
}

func newTraceFlags(t *target) *traceFlags {
	var formats []string
	for _, f := range trace.Formats() {
		formats = append(formats, string(f))
	}
	return &traceFlags{target: t, output: newOutput(formats...)}
}

func newTraceCommand(t *target) *cobra.Command {
	o := newTraceFlags(t)
	var follow bool
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "trace KIND/NAME | KIND NAME",
		Short: "Show what happened to an object and what it set off",
		Long: `Show what happened to an object and what that set off, as a tree of causes and
effects: the client that wrote it, the controllers that saw the write, how long
their keys waited and their syncs took, what they wrote, and what that set off in
turn. The first lines say what happened in short. What changed nothing is left
out. A dashed line or arrow means that a cause is likely, but not certain.

KIND is any name that kubectl accepts. "ctrlplane why" shows the opposite direction:
what led to an object. With --from, both read a recording.`,
		Example: `  ctrlplane trace deployment/web
  ctrlplane trace deploy web -n shop --since 5m
  ctrlplane trace deployment/web --follow
  ctrlplane trace deployment/web --from out/      what a run --report has recorded
  ctrlplane trace deployment/web -o html > web.html       a page to step through, for slides
  ctrlplane trace deployment/web -o chrome > web.json     for https://ui.perfetto.dev`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if since < 0 || o.options.Depth < 0 {
				return usage.Errorf("--since and --depth cannot be negative: use 0 or more, or leave them out")
			}
			if follow && o.past.given() {
				return usage.Errorf("--follow and --from exclude each other: a recording does not continue")
			}
			return o.run(cmd, args, follow, since)
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "continue until interrupted; only with -o text or json, one line per entry")
	f.DurationVar(&since, "since", 0, "only show what happened within this time, such as 5m")
	f.StringVar(&o.options.Controller, "controller", "", "only show what leads to an action of this controller or client")
	f.IntVar(&o.options.Depth, "depth", 0, "maximum number of consecutive writes; 0 means no limit")
	f.BoolVar(&o.options.All, "all", false, "also show events, leases, and syncs and writes without changes")
	return cmd
}

func (o *traceFlags) addFlags(cmd *cobra.Command) {
	cmd.Args = func(_ *cobra.Command, args []string) error { // bad flags come first
		if err := requireName(o.target, cmd.CommandPath(), args); err != nil {
			return err
		}
		_, _, err := cliargs.Object(cmd.CommandPath(), args)
		return err
	}
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the object")
	o.past.add(cmd.Flags())
	o.output.add(cmd)
}

func (o *traceFlags) format() trace.Format {
	return cmp.Or(trace.Format(o.output.format), trace.Text)
}

func (o *traceFlags) run(cmd *cobra.Command, args []string, follow bool, since time.Duration) error {
	format := o.format()
	if follow && format != trace.Text && format != trace.JSON {
		return usage.Errorf("--follow needs -o text or json, not %s", format)
	}
	ctx := cmd.Context()
	src, about, records, err := o.loadRecords(ctx, cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	if since > 0 {
		o.options.Since = src.now().Add(-since)
	}
	if follow {
		o.options.State = observe.Snapshot{} // that changes
		return trace.Follow(ctx, cmd.OutOrStdout(), src, about, o.options, format, traceStyle())
	}
	tree, err := trace.Build(records, about, o.options)
	if err != nil {
		if errors.Is(err, trace.ErrNoRecords) {
			err = src.explainMissing(ctx, about, err)
		}
		return err
	}
	return writeTrace(cmd, format, func(out io.Writer) error { return tree.Write(out, format, traceStyle()) })
}

// writeTrace writes a trace to stdout, and warns if it is a Mermaid diagram of more than MaxMermaid characters.
func writeTrace(cmd *cobra.Command, f trace.Format, write func(io.Writer) error) error {
	if f != trace.Mermaid {
		return write(cmd.OutOrStdout())
	}
	var diagram strings.Builder
	if err := write(&diagram); err != nil {
		return err
	}
	if n := trace.MermaidLength(diagram.String()); n > trace.MaxMermaid {
		writeWarning(cmd.ErrOrStderr(), fmt.Sprintf("the diagram has %d characters: Mermaid draws at most %d by default, as on GitHub (maxTextSize): %s", n, trace.MaxMermaid, smallerDiagram(cmd)))
	}
	_, err := io.WriteString(cmd.OutOrStdout(), diagram.String())
	return err
}

// smallerDiagram says which options of "trace" or "why" show a trace that is too long for Mermaid.
func smallerDiagram(cmd *cobra.Command) string {
	switch f := cmd.Flags(); {
	case f.Changed("all"):
		return "omit --all, or use -o html"
	case f.Lookup("depth") != nil:
		return "use -o html, or show less with --since, --depth or --controller"
	}
	return "use -o html"
}

// loadRecords opens the control plane or the recording, resolves the object, and reads the
// records.
func (o *traceFlags) loadRecords(ctx context.Context, path string, args []string) (traceSource, observe.Object, []observe.Record, error) {
	none := func(err error) (traceSource, observe.Object, []observe.Record, error) {
		return nil, observe.Object{}, nil, err
	}
	kind, name, err := cliargs.Object(path, args)
	if err != nil {
		return none(err)
	}
	src, err := o.openSource()
	if err != nil {
		return none(err)
	}
	if err := o.resolveController(ctx, src); err != nil {
		return none(err)
	}
	records, err := o.options.ReadRecords(ctx, src)
	if err != nil {
		return none(err)
	}
	about, err := src.resolve(ctx, kind, o.namespace, name)
	if meta.IsNoMatchError(err) {
		known := false
		if about, known = trace.Find(records, kind, o.namespace, name); !known {
			return none(src.unknownKind(ctx, kind))
		}
		err = nil
	}
	return src, about, records, err
}

// examineTimeout bounds the search for what is wrong with an object.
const examineTimeout = 3 * time.Second

// resolveController replaces what the user calls a controller or a client by its name.
func (o *traceFlags) resolveController(ctx context.Context, src observe.Source) error {
	if o.options.Controller == "" {
		return nil
	}
	now, err := src.Snapshot(ctx)
	if err != nil {
		return err
	}
	if o.options.Controller, err = trace.FindActor(now, explain.ExpandShortName(o.options.Controller)); err != nil {
		return usage.Errorf("--controller: %w", err)
	}
	return nil
}

// fileWidth is the number of columns of a trace that is not written to a terminal.
const fileWidth = 100

// traceStyle is the style that stdout can show.
func traceStyle() trace.Style {
	m := ui.Detect(os.Stdout, os.Environ())
	s := trace.Style{Color: m.Color, ASCII: m.ASCII, Zone: time.Local, Width: fileWidth}
	if m.Width != nil {
		s.Width = m.Width()
	}
	return s
}
