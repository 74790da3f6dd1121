package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/childproc"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// hint is a command in an error that works on the control plane that was selected. Many
// errors come from packages, or from the server, that know no selection.
var hint = regexp.MustCompile(`"ctrlplane (?:clients|controllers|explain|kubectl|nodes|status)\b`)

// selectInHints adds --name or --data-dir to the commands that an error suggests, if the command
// line has it: without it they are about another control plane.
func selectInHints(root *cobra.Command, err error) error {
	flags := root.PersistentFlags()
	selection := ""
	for _, name := range []string{"name", "data-dir"} {
		if f := flags.Lookup(name); f != nil && f.Changed {
			selection = " --" + name + " " + quoteWord(f.Value.String())
		}
	}
	if err == nil || selection == "" {
		return err
	}
	text := hint.ReplaceAllStringFunc(err.Error(), func(command string) string {
		program, verb, _ := strings.Cut(command, " ")
		return program + selection + " " + verb
	})
	return &rewordedError{err, text}
}

// hintAtRecursive names the flag that reads subfolders in the error for a folder without files, unless
// options of Go tests have given the folder.
func hintAtRecursive(cmd *cobra.Command, err error) error {
	if !errors.Is(err, manifests.ErrNoFile) || cmd.Name() == childproc.Verb || cmd.Flags().Lookup("recursive") == nil {
		return err
	}
	return fmt.Errorf("%w: add -R to read them", err)
}

// rewordedError is an error with another text.
type rewordedError struct {
	error
	text string
}

func (e *rewordedError) Error() string { return e.text }

func (e *rewordedError) Unwrap() error { return e.error }
