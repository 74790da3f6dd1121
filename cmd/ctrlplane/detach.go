package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// detachedEnv tells the process that serves in the background from the one that starts it.
const detachedEnv = "CTRLPLANE_DETACHED"

// runDetached starts the control plane in a process of its own, or serves in that process.
func (u *upCommand) runDetached(ctx context.Context) error {
	if os.Getenv(detachedEnv) != "" {
		return u.serveDetached(ctx)
	}
	mode := ui.Detect(os.Stdout, os.Environ())
	progress := ui.NewProgress(os.Stdout, mode)
	defer progress.Close() // its error, that stdout is closed, could not be shown
	cmd, err := detachedCommand()
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	if u.manifests.readsStdin() {
		cmd.Stdin = os.Stdin
	}
	var crash bytes.Buffer
	cmd.Stderr = &crash
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("--detach: cannot start %s: %w", cmd.Path, err)
	}
	// Its group is not that of the terminal, which only interrupts this process.
	forwarding := context.AfterFunc(ctx, func() { interruptDetached(cmd.Process) })
	defer forwarding()
	ready, err := showDetachedStart(out, progress, mode)
	if ready {
		return cmd.Process.Release()
	}
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil: // rather than by which signal
		err = &exitError{errors.New("interrupted"), 1}
	case err == nil:
		err = fmt.Errorf("--detach: the process in the background ended before it was ready: %w: %s", waitErr, lastLine(crash.String()))
	}
	return err
}

// detachedCommand is this process again, without its terminal.
func detachedCommand() (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, explainNoExecutable(err, "run up without --detach")
	}
	cmd := exec.Command(program)
	cmd.Args = os.Args // as the user has called it, for messages
	cmd.Env = append(os.Environ(), detachedEnv+"=1")
	cmd.SysProcAttr = detachedAttributes()
	return cmd, nil
}

// explainNoExecutable says what to do if the path of this program is not known: Linux needs /proc
// for that.
func explainNoExecutable(err error, instead string) error {
	err = fmt.Errorf("cannot find this program to start it again: %w", err)
	if runtime.GOOS == "linux" {
		return fmt.Errorf("%w: mount /proc, or %s", err, instead)
	}
	return err
}

// lastLine is the last line of a text, or why there is none.
func lastLine(text string) string {
	lines := words.Lines(text)
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "it has printed nothing"
}

// detachedMessage is a line that the process in the background writes until it is ready.
type detachedMessage struct {
	Begin string        `json:"begin,omitempty"` // a stage
	End   string        `json:"end,omitempty"`   // a stage
	Drop  string        `json:"drop,omitempty"`  // a stage
	Took  time.Duration `json:"took,omitempty"`  // of End
	Error string        `json:"error,omitempty"` // of End, otherwise of the start
	Code  int           `json:"code,omitempty"`  // the exit code after Error
	Text  string        `json:"text,omitempty"`
	Warn  string        `json:"warn,omitempty"`
	Ready *ui.ReadyInfo `json:"ready,omitempty"` // the last message
}

// showDetachedStart shows the start until the control plane is ready. It returns the error
// of a start that has failed; nil if the messages end early.
func showDetachedStart(messages io.Reader, d startDisplay, mode ui.Mode) (ready bool, err error) {
	for in := json.NewDecoder(messages); ; {
		var m detachedMessage
		if in.Decode(&m) != nil {
			return false, nil // the process has ended
		}
		switch {
		case m.Begin != "":
			d.Begin(m.Begin)
		case m.End != "":
			var why error
			if m.Error != "" {
				why = errors.New(m.Error)
			}
			d.End(m.End, m.Took, why)
		case m.Drop != "":
			d.Drop(m.Drop)
		case m.Text != "":
			d.Print(m.Text)
		case m.Warn != "":
			d.Warn(m.Warn)
		case m.Ready != nil:
			d.Print(ui.RenderReady(mode, *m.Ready))
			return true, nil
		case m.Error != "":
			return false, &exitError{errors.New(m.Error), m.Code}
		}
	}
}
