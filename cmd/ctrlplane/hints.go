package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/childproc"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/neterror"
)

// hint is a command in an error that works on the control plane that was selected. Many
// errors come from packages, or from the server, that know no selection.
var hint = regexp.MustCompile(`"ctrlplane (?:clients|controllers|down|explain|kubectl|logs|nodes|status)\b`)

// hintedError is an error to which addHints has added what it can.
type hintedError struct{ error }

func (e *hintedError) Unwrap() error { return e.error }

// addHints adds to an error what only the command line knows: flags that help, and those of commands that it suggests. The
// report of a run has the error before main prints it.
func addHints(cmd *cobra.Command, t *target, err error) error {
	if _, done := errors.AsType[*hintedError](err); done || err == nil {
		return err
	}
	root := cmd.Root()
	return &hintedError{t.selectInHints(asFlagError(root, t.hintAtUnreachable(t.hintAtSuspended(hintAtRecursive(cmd, err)))))}
}

// selectInHints adds --name or --data-dir to the commands that an error suggests, if they are about another control plane
// without it.
func (t *target) selectInHints(err error) error {
	flag := t.byName().flag()
	if err == nil || flag == "" || t.inLessonShell() {
		return err
	}
	text := hint.ReplaceAllStringFunc(err.Error(), func(command string) string {
		program, verb, _ := strings.Cut(command, " ")
		return program + " " + flag + " " + verb
	})
	return &rewordedError{err, text}
}

// ownCommand is a command of this program in quotes, but not the name of a client, such as "ctrlplane (kubernetes-admin)".
var ownCommand = regexp.MustCompile(`"ctrlplane [a-z-][^"]*"`)

// asCalled names this program in the commands that a text suggests as the user has called it. Many texts come from packages,
// or from the server, that do not know that.
func asCalled(text string) string {
	program := programWord()
	return ownCommand.ReplaceAllStringFunc(text, func(quoted string) string {
		return quoteCommand(program + strings.TrimPrefix(strings.Trim(quoted, `"`), "ctrlplane"))
	})
}

// hintAtRecursive names the flag that reads subfolders in the error for a folder without files, unless
// options of Go tests have given the folder.
func hintAtRecursive(cmd *cobra.Command, err error) error {
	if !errors.Is(err, manifests.ErrNoFile) || cmd.Name() == childproc.Verb || cmd.Flags().Lookup("recursive") == nil {
		return err
	}
	return fmt.Errorf("%w: add -R to read them", err)
}

// suspended is why a control plane that has been found does not answer, where the state of its process is not known.
const suspended = "the control plane is suspended or overloaded"

// noAnswerHint says why a control plane does not answer, and what to do about it.
func (t *target) noAnswerHint() string {
	if path, err := t.runningDataDir(); err == nil {
		if err := rejectSuspended(path); err != nil {
			return err.Error()
		}
	}
	return fmt.Sprintf("%s: see %s, or stop it with %s and start it again", suspended, t.byName().quoteCommand("logs"), t.byName().quoteCommand("down"))
}

// rejectSuspended fails for a control plane whose process is suspended, before a request to it would time out.
func rejectSuspended(dir string) error {
	pid := datadir.SuspendedPID(dir)
	if pid == 0 {
		return nil
	}
	return fmt.Errorf(`the process of the control plane is suspended: continue it with "fg" in its shell, or with "kill -CONT %d"`, pid)
}

// hintAtSuspended says why a control plane accepts a connection and does not answer. Its own API has no other TLS server.
func (t *target) hintAtSuspended(err error) error {
	request, ok := errors.AsType[*url.Error](err)
	if !ok || !request.Timeout() || !strings.Contains(request.URL, "/ctrlplane/") || strings.Contains(err.Error(), suspended) || strings.Contains(err.Error(), "is suspended: ") {
		return err
	}
	return fmt.Errorf("%w: %s", err, t.noAnswerHint())
}

// hintAtUnreachable says why nothing listens at the address of a control plane that runs.
func (t *target) hintAtUnreachable(err error) error {
	request, ok := errors.AsType[*url.Error](err)
	if !ok || !neterror.IsRefused(err) || !strings.Contains(request.URL, "/ctrlplane/") {
		return err
	}
	path, pathErr := t.runningDataDir()
	if pathErr != nil { // it has just ended
		return err
	}
	return fmt.Errorf("%w: a process uses data folder %s, but does not listen here: it is about to end, or in another container or network namespace: run this there", err, path)
}

// rewordedError is an error with another text.
type rewordedError struct {
	error
	text string
}

func (e *rewordedError) Error() string { return e.text }

func (e *rewordedError) Unwrap() error { return e.error }
