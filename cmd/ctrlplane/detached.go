package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/ctrlplane/ctrlplane/ui"
)

// stderrFile has what a process without a terminal would have printed there, in the data
// folder.
const stderrFile = "stderr.log"

// serveDetached serves in the background. It writes messages to stdout until the control
// plane is ready.
func (u *upCommand) serveDetached(ctx context.Context) error {
	// Nothing reads stdout and stderr once the process that has started this one ends.
	signal.Ignore(syscall.SIGPIPE)
	d := &detachedDisplay{up: u, out: json.NewEncoder(os.Stdout), inherited: inheritedFiles()}
	err := u.serveShown(ctx, &session{up: u, view: viewNone, progress: d, warner: d})
	if err != nil && d.send(detachedMessage{Error: err.Error(), Code: exitCode(err)}) == nil {
		return &exitError{nil, exitCode(err)} // the other process prints it
	}
	return err
}

// detachedDisplay shows a start to the process that has started this one.
type detachedDisplay struct {
	up        *upCommand
	inherited []int // closed once the start has read the files in its flags: they may be /dev/fd/3

	mu    sync.Mutex
	out   *json.Encoder
	ready bool // nothing reads messages any more
}

var errDetached = errors.New("the process that has started this one does not listen any more")

func (d *detachedDisplay) send(m detachedMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready {
		return errDetached
	}
	return d.out.Encode(m)
}

// Begin, End, Drop, Print, Warn and Close implement startDisplay. That the other process was
// killed does not stop a start, so errors do not matter.
func (d *detachedDisplay) Begin(stage string) { _ = d.send(detachedMessage{Begin: stage}) }

func (d *detachedDisplay) End(stage string, took time.Duration, err error) {
	m := detachedMessage{End: stage, Took: took}
	if err != nil {
		m.Error = err.Error()
	}
	_ = d.send(m)
}

func (d *detachedDisplay) Drop(stage string) { _ = d.send(detachedMessage{Drop: stage}) }

func (d *detachedDisplay) Print(text string) { _ = d.send(detachedMessage{Text: text}) }

func (d *detachedDisplay) Flush() {}

func (d *detachedDisplay) Warn(msg string) { _ = d.send(detachedMessage{Warn: msg}) }

func (d *detachedDisplay) Close() error { return nil }

// reportReady sends the last message. From then on, errors and crashes of this process go
// to a file.
func (d *detachedDisplay) reportReady(info ui.ReadyInfo) error {
	if d.up.ephemeral && runtime.GOOS == "windows" {
		return d.sendReady(info) // an open file would keep the folder from being removed
	}
	path := filepath.Join(d.up.server.DataDir(), stderrFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("--detach: crash output: %w", err)
	}
	detachedStderr.Store(f) // open until the process ends
	return d.sendReady(info)
}

// sendReady sends the last message, after what the starter's callers may wait for: the end of a pipe, or a lock.
func (d *detachedDisplay) sendReady(info ui.ReadyInfo) error {
	closeFiles(d.inherited)
	_ = d.send(detachedMessage{Ready: &info})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = true
	return nil
}
