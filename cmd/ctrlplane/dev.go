package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/devloop"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/filewatch"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// devCommand has the flags of "ctrlplane dev" and the state of its loop.
type devCommand struct {
	up      *upCommand
	watch   []string
	match   []string
	sources []string // what the command runs
	plane   devPlane
	program devProgram
	output  *devOutput
	watcher *filewatch.Watcher
}

const devHelp = `Start a control plane, apply CustomResourceDefinitions, and run the command of your
operator with access to it. When a source file changes, stop the operator, restore
the state from before it first ran, and run it again. On a terminal the view of "up"
also shows the operator's output; otherwise, and with --ui plain, lines after the
start begin with [dev], [operator] or [plane].

The control plane is ephemeral unless --name or --data-dir is given; other verbs find
it as --name dev: "ctrlplane --name dev kubectl get pods". The command gets the same
variables as that of "run", first of all KUBECONFIG.

Files that match --match are watched below the folders of --watch, without tests
(*_test.go), hidden files, the folders bin, build, dist, node_modules, site-packages,
testdata and vendor, those with a file CACHEDIR.TAG, and those that you may not read.
So is what the command itself runs: its file, the script of an interpreter such as
python3, or the package of "go run". Files of --crds and -f are watched, too: when one
changes, all of them are applied again to the state from before they were first
applied. With --keep the objects stay, and changed files are applied on top of them.

A build error, or an operator that exits, is reported in one line; dev then waits for
the next change. A "go run" command is compiled while the previous run is stopped and
the state is restored, on Windows after that. An operator gets SIGTERM (the go command
and make: SIGINT), with all processes of its group, and SIGKILL 10s later; on Windows
it gets Ctrl-Break, and is killed 10s later. A second Ctrl-C kills it at once.

Exit codes: 0 if you quit the view; 128 plus the number of the signal that ended dev;
2, 125, 126 and 127 as those of "run". The operator's own exit codes have no effect.`

func newDevCommand(t *target) *cobra.Command {
	d := &devCommand{up: &upCommand{target: t, ephemeralName: nameOfDev}}
	cmd := &cobra.Command{
		Use:   "dev [flags] -- COMMAND [ARG…]",
		Short: "Start a control plane and run your operator, again at each change of its source",
		Long:  devHelp,
		Example: `  ctrlplane dev --crds config/crd/bases -- go run .
  ctrlplane dev --crds config/crd -f config/samples -- go run ./cmd --metrics-bind-address=0
  ctrlplane dev --watch . --watch ../api --crds ../api/crds -- go run .
  ctrlplane dev --crds crds -f samples -- python3 site_operator.py
  ctrlplane dev --keep --name shop -- make run
  ctrlplane dev --with shop=http://localhost:8080/metrics -- go run ./cmd/shop`,
		Args: requireCommand(`, such as "-- go run ."`),
		RunE: d.up.runWrapped(func(cmd *cobra.Command, args []string) (int, error) { return d.run(cmd.Context(), args) }),
	}
	d.addFlags(cmd)
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("ui", cobra.FixedCompletions([]string{"auto", "plain", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// defaultMatch are the names of files that an operator is usually made of.
var defaultMatch = []string{"*.go", "go.mod", "go.sum", "go.work", "*.yaml", "*.yml", "*.py", "*.js", "*.mjs", "*.cjs", "*.ts", "*.mts", "*.java", "*.rs"}

func (d *devCommand) addFlags(cmd *cobra.Command) {
	d.up.addWrapperFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&d.plane.crds, "crds", nil, "files or folders whose CustomResourceDefinitions to apply first (repeatable)")
	f.StringSliceVar(&d.watch, "watch", []string{"."}, "folders or files with the sources of the operator (repeatable)")
	f.StringSliceVar(&d.match, "match", slices.Clone(defaultMatch), "patterns of the names of the files to watch in folders (repeatable)")
	f.Lookup("match").DefValue = strings.Join(defaultMatch, ", ") // the help breaks lines at spaces only
	f.BoolVar(&d.plane.keep, "keep", false, "keep all objects when the operator is restarted")
	f.StringVar(&d.up.ui, "ui", "auto", "what to show: auto, plain or none; none shows only what concerns the operator")
	f.StringVar(&d.up.theme, "theme", "auto", themeFlagHelp)
	f.StringVar(&d.up.server.Kubernetes, "kubernetes", "", kubernetesFlagHelp)
}

func (d *devCommand) validate(ctx context.Context) (viewMode, error) {
	for i, pattern := range d.match {
		d.match[i] = strings.TrimSpace(pattern) // of a list such as "*.go, *.yaml", as the help shows the default
		if _, err := filepath.Match(pattern, ""); err != nil {
			return "", usage.Errorf("--match: %q is not a pattern of file names: use one such as *.go", pattern)
		}
	}
	view, err := parseViewMode(d.up.ui)
	if err != nil || view == viewJSON {
		return "", usage.Errorf("--ui: unknown mode %q: use auto, plain or none", d.up.ui)
	}
	if err := checkTheme(d.up.theme); err != nil {
		return "", err
	}
	for _, path := range d.watch {
		if _, err := os.Stat(path); err != nil {
			return "", usage.Errorf("--watch: cannot watch %s: %w", path, fileerror.WithoutPath(err))
		}
	}
	if err := d.checkReadable(); err != nil {
		return "", err
	}
	if err := d.up.manifests.validate(); err != nil {
		return "", err
	}
	d.plane.server, d.plane.account = &d.up.server, &d.up.account
	d.plane.manifests, d.up.manifests = d.up.manifests, manifestFlags{} // applied and restored by us
	if _, err := d.plane.load(ctx); err != nil {
		return "", err
	}
	if err := d.up.prepareServer(ctx); err != nil {
		return "", err
	}
	return view, d.up.rejectTakenName()
}

// checkReadable refuses manifests that can be read only once.
func (d *devCommand) checkReadable() error {
	const why = "dev reads manifests again when they change: save them in a file"
	if path, _ := d.up.manifests.readOnce(); path != "" {
		return usage.Errorf("-f %s: %s", path, why)
	}
	if i := slices.IndexFunc(d.plane.crds, limitread.IsStream); i >= 0 {
		return usage.Errorf("--crds %s: %s", d.plane.crds[i], why)
	}
	return nil
}

// run returns the exit code, and the error that explains it.
func (d *devCommand) run(ctx context.Context, args []string) (int, error) {
	view, err := d.validate(ctx)
	if err != nil {
		return exitFailure, err
	}
	if _, err := lookPath(args[0]); err != nil {
		err = newStartError(args[0], err)
		return startExitCode(err), err
	}
	d.sources = devloop.Sources(args)
	if d.watcher, err = filewatch.New(filewatch.Config{Roots: d.watchRoots()}); err != nil {
		return exitFailure, err
	}
	signals := listenForDevSignals()
	ctx, cancel := context.WithCancelCause(ctx)
	stdout := &watchedStdout{cancel, "redirect it to a file"}
	d.output = newDevOutput(endable(ctx, stdout), view)
	d.plane.watch, d.plane.warn = d.watchInputs, d.output.warn
	d.program = devProgram{args: args, server: &d.up.server, account: &d.up.account, output: d.output, grace: killGrace, killNow: signals.killNow}
	err = joinLoss(ctx, d.serve(ctx, stdout, view))
	cancel(nil)
	err = errors.Join(err, d.watcher.Close())
	sig := signals.stop()
	switch {
	case sig != nil:
		return signalExitCode(sig), withoutCancel(err)
	case err != nil:
		return exitFailure, err
	}
	return 0, nil
}

// withoutCancel drops an error that only says that the context has ended.
func withoutCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serve shows the control plane, with the loop beside it.
func (d *devCommand) serve(ctx context.Context, stdout io.Writer, view viewMode) error {
	v, closeDisplay := d.up.newSession(stdout, view)
	defer closeDisplay()
	v.operator = d.output
	v.kubernetesExited = func() {
		d.program.killLast()
		exit(exitFailure)
	}
	v.ready = func() error { return d.plane.begin(ctx, v.showStageOf) }
	v.beside = d.startLoop
	if d.up.showsTimings {
		v.ready = func() error { return errors.Join(d.plane.begin(ctx, v.showStageOf), d.up.showTimings(ctx, v)) }
	}
	return d.up.serve(ctx, v)
}

// startLoop starts the loop; wait returns when it has ended, after ctx.
func (d *devCommand) startLoop(ctx context.Context) (wait func()) {
	loop := devloop.Loop{
		Start:   d.program.start,
		Prepare: d.plane.prepare,
		Changes: d.watcher.Changes(),
		Report:  d.report,
	}
	d.output.say("watching "+d.describeWatched(), false)
	var running sync.WaitGroup
	running.Go(func() { loop.Run(ctx) })
	running.Go(func() {
		select {
		case err := <-d.watcher.Errors():
			d.output.warn(err.Error())
		case <-ctx.Done():
		}
	})
	return running.Wait
}

// watchInputs watches files of kustomizations, also of those that cannot be built. One whose folder was removed is
// watched again once a kustomization is read while it is back.
func (d *devCommand) watchInputs(paths []string) {
	for _, path := range paths {
		if err := d.watcher.Add(filewatch.Root{Path: path}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.output.warn(err.Error())
		}
	}
}

// watchRoots are the sources and the manifests.
func (d *devCommand) watchRoots() []filewatch.Root {
	var roots []filewatch.Root
	for _, path := range slices.Concat(d.watch, d.sources) {
		roots = append(roots, filewatch.Root{Path: path, Accept: d.isSource})
	}
	for _, path := range d.plane.manifestPaths() {
		roots = append(roots, filewatch.Root{Path: path, Accept: isManifest})
	}
	return roots
}

func (d *devCommand) isSource(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && slices.ContainsFunc(d.match, func(pattern string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok && err == nil
	})
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}
