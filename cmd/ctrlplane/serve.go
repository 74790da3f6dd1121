package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/ui"
)

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
	if err := rejectSuspended(locked.Path); err != nil {
		return fmt.Errorf("%s is already started: %w, stop it with %s, or choose another --name or --data-dir", name, err, u.target.quoteCommand("down"))
	}
	if state, running, err := datadir.Peek(locked.Path); err == nil && running && state.Server != "" {
		return fmt.Errorf("%s is already running at %s: see %s, stop it with %s, or choose another --name or --data-dir",
			name, state.Server, u.servedTarget().quoteCommand("status"), u.target.quoteCommand("down"))
	}
	return fmt.Errorf("%s is already starting, as process %d: wait for it, stop it with %s, or choose another --name or --data-dir",
		name, locked.PID, u.target.quoteCommand("down"))
}

// serve starts the control plane and blocks until it stops.
func (u *upCommand) serve(ctx context.Context, v *session) (err error) {
	began := time.Now()
	s := &u.server
	if err := u.readInputs(ctx); err != nil {
		return err
	}
	if err := u.record.open(v.warn); err != nil {
		return err
	}
	defer u.record.close()
	s.OnStage = func(st ctrlplane.Stage) {
		u.record.begin(s)
		v.showStage(st)
	}
	s.OnWarning = v.warn
	earlystderr.Capture(logEarlyStderr)
	defer earlystderr.Release()
	exitNow := v.kubernetesExited
	if exitNow == nil {
		exitNow = func() { exit(1) }
	}
	onKubernetesExit(s, s.LogPath, exitNow)
	if err := s.Start(ctx); err != nil {
		return u.explainLocked(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !net.ParseIP(u.address).IsLoopback() {
		v.warn(fmt.Sprintf("%s is not a loopback address: the API server can be reached from the network", u.address))
	}
	if !u.ephemeral && u.servedTarget() != u.target {
		v.warn("KUBECONFIG does not select this control plane: other verbs need --name default, or unset KUBECONFIG")
	}
	if v.ready != nil {
		if err := v.ready(); err != nil {
			return err
		}
	}
	if u.merge {
		undo, mergeErr := u.mergeKubeconfig()
		if mergeErr != nil {
			return mergeErr
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	if err := v.showReady(u.readyInfo(time.Since(began), u.merge)); err != nil {
		return err
	}
	return v.watchUntilEnd(ctx)
}

// checkUserKubeconfig fails before the start if the merge would fail after it.
func checkUserKubeconfig() error {
	path := kubeconfig.Path()
	if path == "" {
		return errors.New("--merge-kubeconfig: KUBECONFIG does not name a file: set it to one, or unset it")
	}
	switch {
	case os.Getenv("KUBECONFIG") == "" && !filepath.IsAbs(path): // without a home folder it would be below the current one
		return errors.New("--merge-kubeconfig: HOME is not set: set it, or KUBECONFIG to a file")
	case limitread.IsStream(path): // reading may have no end
		return fmt.Errorf("--merge-kubeconfig: kubeconfig %s is a pipe or a device, not a regular file: name another file in KUBECONFIG", path)
	}
	_, err := clientcmd.LoadFromFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--merge-kubeconfig: cannot parse %s: %w: correct it first", path, err)
	}
	return nil
}

// mergeKubeconfig merges a context into the user's kubeconfig. undo removes that of an
// ephemeral control plane again.
func (u *upCommand) mergeKubeconfig() (undo func() error, err error) {
	cfg := u.server.KubeconfigObject()
	if _, err := kubeconfig.Merge(cfg.CurrentContext, cfg); err != nil {
		return nil, err
	}
	if !u.ephemeral {
		return func() error { return nil }, nil
	}
	return func() error { return kubeconfig.Unmerge(cfg.CurrentContext, cfg) }, nil
}

// servedTarget selects the control plane that is served, also if it has no name of its own, and if KUBECONFIG is of another one.
func (u *upCommand) servedTarget() *target {
	if u.ephemeral {
		return ephemeralTarget(u.server.Name, u.server.DataDir())
	}
	own, err := u.target.dataDirPath()
	if s := u.target.find(func(selector) bool { return true }); !u.target.isDefault() || err != nil || s.path == own && s.unknown == nil {
		return u.target
	}
	return &target{name: u.target.name, named: func() bool { return true }}
}

// stopTarget is servedTarget for "down", which does not use KUBECONFIG.
func (u *upCommand) stopTarget() *target {
	if u.ephemeral {
		return u.servedTarget()
	}
	return u.target
}

// ephemeralTarget selects an ephemeral control plane from another shell. That finds it by its name only if it has the same
// folder for temporary files; macOS and Windows set one for each user.
func ephemeralTarget(name, dir string) *target {
	t := &target{name: name}
	if own := os.Getenv("TMPDIR"); runtime.GOOS != "darwin" && runtime.GOOS != "windows" && own != "" && filepath.Clean(own) != "/tmp" {
		t.dataDir = dir
	}
	return t
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
		Shell:      userShell(),
	}
	if !u.ephemeral {
		info.Dir = s.DataDir()
	}
	if u.detach {
		info.StopCommand = u.stopTarget().commandLine("down")
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
