package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/cliargs"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/inspect"
	"github.com/ctrlplane/ctrlplane/observe/trace"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// traceCommand has the flags of "trace" and "why".
type traceCommand struct {
	target    *target
	namespace string
	output    *outputFlag
	options   trace.Options
	past      recordingFlags
}

func newTraceFlags(t *target) *traceCommand {
	var formats []string
	for _, f := range trace.Formats() {
		formats = append(formats, string(f))
	}
	return &traceCommand{target: t, output: newOutput(formats...)}
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
turn. The first lines say what happened in short. What changed nothing is only
counted. A dashed line or arrow means that a cause is likely, but not certain.

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
				return usage.Errorf("--since and --depth cannot be negative")
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
	f.BoolVar(&o.options.All, "all", false, "also show events, leases, and syncs without changes")
	return cmd
}

func (o *traceCommand) addFlags(cmd *cobra.Command) {
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

func (o *traceCommand) format() trace.Format {
	return cmp.Or(trace.Format(o.output.format), trace.Text)
}

func (o *traceCommand) run(cmd *cobra.Command, args []string, follow bool, since time.Duration) error {
	format := o.format()
	if follow && format != trace.Text && format != trace.JSON {
		return usage.Errorf("--follow needs -o text or json, not %s", format)
	}
	ctx := cmd.Context()
	src, about, page, err := o.loadRecords(ctx, cmd.CommandPath(), args)
	if err != nil {
		return err
	}
	if since > 0 {
		o.options.Since = src.now().Add(-since)
	}
	if follow {
		return trace.Follow(ctx, cmd.OutOrStdout(), src, about, o.options, format, traceStyle())
	}
	tree, err := trace.Build(page.Records, about, o.options)
	if err != nil {
		return explainNoRecords(ctx, src, about, err)
	}
	return tree.Write(cmd.OutOrStdout(), format, traceStyle())
}

// loadRecords opens the control plane or the recording, resolves the object, and reads the
// records.
func (o *traceCommand) loadRecords(ctx context.Context, path string, args []string) (explainable, observe.Object, observe.Page, error) {
	none := func(err error) (explainable, observe.Object, observe.Page, error) {
		return nil, observe.Object{}, observe.Page{}, err
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
	page, err := src.Records(ctx, trace.Query())
	if err != nil {
		return none(err)
	}
	o.options.Missed = page.Missed
	about, err := src.resolve(kind, o.namespace, name)
	if meta.IsNoMatchError(err) {
		known := false
		if about, known = trace.Find(page.Records, kind, o.namespace, name); !known {
			return none(src.unknownKind(kind))
		}
		err = nil
	}
	return src, about, page, err
}

// explainable is a source of records that can resolve what its users call objects.
type explainable interface {
	observe.Source
	now() time.Time
	// resolve returns the object that kubectl calls so. meta.IsNoMatchError reports
	// whether an error is about an unknown kind.
	resolve(kind, namespace, name string) (observe.Object, error)
	// unknownKind says what to do about a kind that is neither served nor in the records.
	unknownKind(kind string) error
	// describeNow says what is wrong with an object at present; "" if nothing is or if that is not
	// known.
	describeNow(ctx context.Context, about observe.Object) string
	// explainMissing says more about an object without records, if more is known.
	explainMissing(ctx context.Context, about observe.Object, err error) error
}

// openSource opens the control plane or, with --from, the recording.
func (o *traceCommand) openSource() (explainable, error) {
	if o.past.given() {
		return o.past.open()
	}
	cfg, err := o.target.restConfig()
	if err != nil {
		return nil, err
	}
	client, err := controlrest.NewClient(cfg)
	return liveSource{client, o.target, cfg}, err
}

// liveSource is a running control plane.
type liveSource struct {
	*controlrest.Client
	target *target
	cfg    *rest.Config
}

func (s liveSource) now() time.Time { return time.Now() }

func (s liveSource) resolve(kind, namespace, name string) (observe.Object, error) {
	mapper, err := newKindMapper(s.cfg)
	if err != nil {
		return observe.Object{}, err
	}
	return resolveObject(mapper, kind, namespace, name)
}

func (s liveSource) unknownKind(kind string) error {
	return unknownKindError(s.target, kind)
}

func (s liveSource) describeNow(ctx context.Context, about observe.Object) string {
	waiter, err := health.New(s.cfg)
	if err != nil {
		return ""
	}
	return describeNow(ctx, waiter, about)
}

// describeNow returns what is wrong with an object; empty if nothing is, or that is not known.
func describeNow(ctx context.Context, waiter *health.Waiter, about observe.Object) string {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	kind := about.Resource
	if about.Group != "" {
		kind += "." + about.Group
	}
	now, err := waiter.Examine(ctx, kind, about.Namespace, about.Name)
	switch {
	case err != nil, now.Status == health.Current, now.Status == health.NotFound:
		return "" // the records, which say what they can, come from the same server
	case now.Status == health.Terminating:
		return "It is " + strings.TrimSuffix(now.Message, ".") + "."
	}
	return "It is not ready: " + strings.TrimSuffix(now.Message, ".") + "."
}

// examineTimeout bounds the search for what is wrong with an object.
const examineTimeout = 3 * time.Second

// explainMissing says whether an object without records exists.
func (s liveSource) explainMissing(ctx context.Context, about observe.Object, err error) error {
	inspector, inspectErr := inspect.New(s.cfg)
	if inspectErr != nil {
		return err
	}
	now, inspectErr := inspector.Inspect(ctx, about)
	switch {
	case now.Gone:
		return fmt.Errorf("%s: no such object, now or in the recorded history: check its name and namespace", about)
	case inspectErr == nil:
		return fmt.Errorf("%s: it exists, but no record is about it: it has not changed since the control plane started, or its records were dropped (see --observe-records of up)", about)
	}
	return err
}

// explainNoRecords says why no record is about an object.
func explainNoRecords(ctx context.Context, src explainable, about observe.Object, err error) error {
	if !errors.Is(err, trace.ErrNoRecords) {
		return err
	}
	return src.explainMissing(ctx, about, err)
}

// resolveController replaces what the user calls a controller or a client by its name.
func (o *traceCommand) resolveController(ctx context.Context, src observe.Source) error {
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

// resolveObject finds the resource of a kind in the way that kubectl does.
func resolveObject(mapper meta.RESTMapper, kind, namespace, name string) (observe.Object, error) {
	m, err := resolveKind(mapper, kind)
	if err != nil {
		return observe.Object{}, err
	}
	if !isNamespaced(m) {
		namespace = ""
	}
	return observe.Object{
		Group: m.Resource.Group, Resource: m.Resource.Resource, Kind: m.GroupVersionKind.Kind, Namespace: namespace, Name: name,
	}, nil
}

// newKindMapper returns a mapper that knows the kinds of a server, and their short names.
func newKindMapper(cfg *rest.Config) (meta.RESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil), nil
}

// resolveKind finds a kind in the way that kubectl does.
func resolveKind(mapper meta.RESTMapper, kind string) (*meta.RESTMapping, error) {
	full, short := schema.ParseResourceArg(strings.ToLower(kind))
	var found schema.GroupVersionKind
	var err error
	if full != nil {
		found, err = mapper.KindFor(*full)
	}
	if full == nil || meta.IsNoMatchError(err) {
		found, err = mapper.KindFor(short.WithVersion(""))
	}
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(found.GroupKind(), found.Version)
}

func isNamespaced(m *meta.RESTMapping) bool { return m.Scope.Name() != meta.RESTScopeNameRoot }

// unknownKindError says how to list the kinds.
func unknownKindError(t *target, kind string) error {
	return usage.Errorf("unknown kind %q: %q lists all kinds", kind, t.commandLine("kubectl api-resources"))
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
