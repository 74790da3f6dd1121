package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// session runs a control plane that serves clients, and shows it.
type session struct {
	up       *upCommand
	view     viewMode
	progress startDisplay // until the live view opens
	warner   warner       // shows warnings; may be progress
	mode     ui.Mode
	ready    func() error // called once the control plane is usable; may be nil

	// Of "ctrlplane dev"; otherwise nil.
	operator         *devOutput
	beside           func(context.Context) (wait func()) // starts what runs beside the view
	kubernetesExited func()                              // ends the process instead of exit

	mu       sync.Mutex
	warnings []string // all so far
}

// explainLocked says where the control plane runs that uses the data folder already.
func (u *upCommand) explainLocked(err error) error {
	locked, ok := errors.AsType[*datadir.LockedError](err)
	if !ok || locked.PID == 0 {
		return err
	}
	name := fmt.Sprintf("control plane %q", u.target.name)
	if u.target.dataDir != "" {
		name = "the control plane in " + locked.Path
	}
	if state, running, err := datadir.Peek(locked.Path); err == nil && running && state.Server != "" {
		return fmt.Errorf("%s is already running at %s: see %q, stop it with %q, or choose another --name or --data-dir",
			name, state.Server, u.target.commandLine("status"), u.target.commandLine("down"))
	}
	return fmt.Errorf("%s is already starting, as process %d: wait for it, stop it with %q, or choose another --name or --data-dir",
		name, locked.PID, u.target.commandLine("down"))
}

// startDisplay shows a start. A *ui.Progress is one.
type startDisplay interface {
	Begin(stage string)
	End(stage string, took time.Duration, err error)
	Drop(stage string)
	Print(text string)
	warner
	Close() error
}

type warner interface{ Warn(msg string) }

// serve starts the control plane and blocks until it stops.
func (u *upCommand) serve(ctx context.Context, v *session) (err error) {
	began := time.Now()
	s := &u.server
	if s.Manifests, s.ManifestTexts, err = u.manifests.resolve(ctx); err != nil {
		return err
	}
	if err := u.record.open(v.warn); err != nil {
		return err
	}
	defer u.record.close()
	s.OnStage = func(st ctrlplane.Stage) {
		u.record.begin(s)
		switch {
		case !st.Ended:
			v.progress.Begin(st.Name)
		case errors.As(st.Err, new(*datadir.LockedError)): // nothing has failed: it runs already
			v.progress.Drop(st.Name)
		default:
			v.progress.End(st.Name, st.Took, st.Err)
		}
	}
	s.OnWarning = v.warn
	earlystderr.Capture(logEarlyStderr)
	defer earlystderr.Release()
	var started atomic.Bool
	exitNow := v.kubernetesExited
	if exitNow == nil {
		exitNow = func() { exit(1) }
	}
	onKubernetesExit(ctx, s, &started, s.LogPath, exitNow)
	if err := s.Start(ctx); err != nil {
		return u.explainLocked(err)
	}
	started.Store(true)
	defer func() { err = errors.Join(err, s.Close()) }()
	if !net.ParseIP(u.address).IsLoopback() {
		v.warn(fmt.Sprintf("%s is not a loopback address: the API server can be reached from the network", u.address))
	}
	if v.ready != nil {
		if err := v.ready(); err != nil {
			return err
		}
	}
	if u.merge {
		cfg := s.KubeconfigObject()
		if _, err := kubeconfig.Merge(cfg.CurrentContext, cfg); err != nil {
			return err
		}
		if u.ephemeral {
			defer func() { err = errors.Join(err, kubeconfig.Unmerge(cfg.CurrentContext, cfg)) }()
		}
	}
	if err := v.showReady(u.readyInfo(time.Since(began), u.merge)); err != nil {
		return err
	}
	return v.watchUntilEnd(ctx)
}

// showReady shows that the control plane is usable.
func (v *session) showReady(info ui.ReadyInfo) error {
	if d, ok := v.progress.(*detachedDisplay); ok {
		return d.reportReady(info)
	}
	v.progress.Print(ui.RenderReady(v.mode, info))
	return nil
}

// warn shows a warning, in the progress of the start or on stderr, and in the live view.
func (v *session) warn(msg string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = append(v.warnings, msg)
	v.warner.Warn(msg) // does nothing once it is closed
}

func (v *session) warningsSoFar() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.warnings[:len(v.warnings):len(v.warnings)]
}

// watchUntilEnd shows the control plane until it exits, ctx ends or the user stops it.
func (v *session) watchUntilEnd(ctx context.Context) error {
	s := &v.up.server
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Done():
			cancel(fmt.Errorf("the control plane has exited: %w", s.Err()))
		case <-ctx.Done():
		}
	}()
	wait := func() {}
	if v.beside != nil {
		wait = v.beside(ctx)
	}
	defer func() {
		cancel(nil)
		<-done
		wait()
	}()
	if err := v.runView(ctx); err != nil {
		return err
	}
	if s.Err() != nil {
		return context.Cause(ctx)
	}
	if v.view == viewLive { // the progress is closed
		fmt.Println("stopping")
	}
	v.progress.Print("stopping")
	return nil
}

// runView returns when ctx ends or the user stops the control plane.
func (v *session) runView(ctx context.Context) (err error) {
	s := &v.up.server
	src, err := newViewSource(s.Observer(), s.Interventions(), s.ClientInterventions(), s.SpeedControl(), s.RESTConfig())
	if err != nil {
		return err
	}
	now, err := src.Snapshot(ctx)
	if err != nil {
		return err
	}
	after := now.Journal.Last
	switch v.view {
	case viewJSON:
		after = 0 // including the start
	case viewLive:
		if err := v.progress.Close(); err != nil {
			return err
		}
	}
	o := live.Options{Ephemeral: v.up.ephemeral, Theme: v.up.theme, Warnings: v.warningsSoFar}
	if v.operator != nil {
		o.Ephemeral, o.Output = true, v.operator // it serves only the operator, which ends with it
		o.Out = v.operator.events()
	}
	endPage, err := v.addPage(&o, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endPage()) }()
	leave, err := v.view.showSource(ctx, src, after, o)
	if err != nil || leave == live.Stop || ctx.Err() != nil {
		return err
	}
	// Short lines: terminals break long ones in the middle of a word.
	fmt.Printf("The control plane keeps running.\n  To open the view again: %s\n  To stop the control plane: Ctrl-C here\n", v.up.servedTarget().commandLine("top"))
	if now, err = src.Snapshot(ctx); err != nil {
		return err
	}
	_, err = viewPlain.showSource(ctx, src, now.Journal.Last, live.Options{})
	return err
}

// addPage adds the page for a projector to a view.
func (v *session) addPage(o *live.Options, src viewSource) (end func() error, err error) {
	out := io.Writer(os.Stdout)
	if v.view == viewJSON || v.view == viewNone {
		out = stderr
	}
	facts := func(ctx context.Context) (explain.Facts, error) { return factsOf(ctx, v.up.server.RESTConfig()) }
	return v.view.addPage(o, pageSource{viewSource: src, speed: v.up.server.SpeedControl(), facts: facts}, v.up.web, out)
}

// checkUserKubeconfig fails before the start if the merge would fail after it.
func checkUserKubeconfig() error {
	path := kubeconfig.Path()
	if path == "" {
		return errors.New("--merge-kubeconfig: KUBECONFIG does not name a file: set it to one, or unset it")
	}
	_, err := clientcmd.LoadFromFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("--merge-kubeconfig: cannot parse %s: %w: correct it first", path, err)
	}
	return nil
}

// servedTarget selects the control plane that is served, also if it has no name of its own.
func (u *upCommand) servedTarget() *target {
	if u.ephemeral {
		return &target{name: u.server.Name}
	}
	return u.target
}

func (u *upCommand) readyInfo(took time.Duration, merged bool) ui.ReadyInfo {
	s := &u.server
	info := ui.ReadyInfo{
		Name:       s.Name,
		Took:       took,
		URL:        s.URL(),
		Kubernetes: s.DescribeKubernetes(),
		Log:        s.LogPath(),
		Kubeconfig: filepath.Join(s.DataDir(), ctrlplane.KubeconfigFile),
		Command:    u.servedTarget().commandLine("kubectl"),
		Shell:      ui.DetectShell(runtime.GOOS, os.Environ()),
	}
	if !u.ephemeral {
		info.Dir = s.DataDir()
	}
	if u.detach {
		info.StopCommand = u.servedTarget().commandLine("down")
	}
	if merged {
		info.Context = s.KubeconfigObject().CurrentContext
	}
	for _, c := range s.ControllerStatuses() {
		info.Controllers++
		if c.State == controllers.Running {
			info.Running++
		}
	}
	return info
}
