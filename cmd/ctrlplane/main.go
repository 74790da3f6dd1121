package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	_ "time/tzdata" // for time zones of CronJobs, as upstream's programs

	_ "github.com/ctrlplane/ctrlplane/cmd/ctrlplane/asinit" // before Kubernetes' packages
	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
	_ "github.com/ctrlplane/ctrlplane/cmd/ctrlplane/firstcollection" // before Kubernetes' packages
	_ "github.com/ctrlplane/ctrlplane/cmd/ctrlplane/translations"    // before kubectl's packages
	"github.com/ctrlplane/ctrlplane/internal/endsignals"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// stderr is the standard error of the process. While a control plane is served, what others
// write to os.Stderr is captured for the log.
var stderr = earlystderr.Original()

func main() {
	earlystderr.Release()
	ctx, release := untilEndSignal()
	if !endsignals.HangupIgnored() {
		// When a terminal is closed, its shell and make send SIGHUP as well as the kernel: only the first counts.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Args = asKubectl(os.Args)
	exit(run(ctx, release, os.Args[1:]))
}

// asKubectl makes a program that is called kubectl act as "ctrlplane kubectl": test tools call it so, and a link in PATH is
// enough for them. Messages name the program that the link leads to.
func asKubectl(args []string) []string {
	if len(args) == 0 || strings.TrimSuffix(filepath.Base(args[0]), ".exe") != "kubectl" {
		return args
	}
	program := "ctrlplane"
	if path, err := os.Executable(); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && filepath.Base(path) != filepath.Base(args[0]) {
			program = path
		}
	}
	return append([]string{program, "kubectl"}, args[1:]...)
}

// run returns the exit code: 0, 1 for a failure, 2 for bad usage, or what the verb
// documents.
func run(ctx context.Context, release func(), args []string) int {
	t := &target{}
	root := newRootCommand(t)
	root.SetArgs(args)
	root.SetOut(endableStdout(ctx))
	root.SetErr(endableStderr(ctx))
	// A second signal ends the process at once, as signals do by default, but not one that repeats the first.
	context.AfterFunc(ctx, func() { time.AfterFunc(endsignals.RepeatTime, release) })
	cmd, err := root.ExecuteContextC(ctx)
	err = addHints(cmd, t, err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &exitError{errors.New("interrupted"), exitCode(err)} // rather than which request that was
	}
	writeError(endableStderr(ctx), err)
	return exitCode(err)
}

// printError prints an error as one line.
func printError(err error) { writeError(errorOutput(), err) }

// writeError writes an error as one line, or those of manifests as one line each. Its text may be from an API server, a webhook
// or a file. An error without a text has been printed already.
func writeError(out io.Writer, err error) {
	if err == nil {
		return
	}
	for _, line := range manifests.ErrorLines(err) {
		if text := words.OneLine(asCalled(separateJoined(err, line))); text != "" {
			fmt.Fprintf(out, "ctrlplane: %s\n", text)
		}
	}
}

// separateJoined separates errors of errors.Join in a text by semicolons.
func separateJoined(err error, text string) string {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return text
	}
	var all []string
	for _, e := range joined.Unwrap() {
		all = append(all, e.Error())
	}
	return strings.ReplaceAll(text, strings.Join(all, "\n"), strings.Join(all, "; "))
}

// printWarning prints a warning as one line.
func printWarning(msg string) { writeWarning(errorOutput(), msg) }

func writeWarning(out io.Writer, msg string) {
	fmt.Fprintf(out, "ctrlplane: warning: %s\n", words.OneLine(asCalled(msg)))
}

// detachedStderr replaces stderr in a process that has no terminal; nil = it has one.
var detachedStderr atomic.Pointer[os.File]

// errorOutput is where errors and warnings of this process go.
func errorOutput() io.Writer {
	if f := detachedStderr.Load(); f != nil {
		return f
	}
	return ownLines{stderr}
}

// exit ends the process. Besides main and process 1, only a second signal and Kubernetes' own
// fatal errors may do that: nothing after them can return to main.
func exit(code int) { os.Exit(code) }

// exitError is an error of a verb that documents its own exit codes. A nil error
// means that stderr has nothing to add to the code.
type exitError struct {
	error
	code int
}

func (e *exitError) Error() string {
	if e.error == nil {
		return ""
	}
	return e.error.Error()
}

func (e *exitError) Unwrap() error { return e.error }

func exitCode(err error) int {
	if _, bad := errors.AsType[usage.Error](err); bad {
		return 2
	}
	if own, ok := errors.AsType[*exitError](err); ok {
		return own.code
	}
	if err != nil {
		return 1
	}
	return 0
}
