package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// dataDirEnv replaces --data-dir where no flag is given. "run" sets it for its
// command, so that verbs in the command use its control plane.
const dataDirEnv = "CTRLPLANE_DATA_DIR"

// target selects the control plane that a verb works on: see selectors.
type target struct {
	name    string
	dataDir string
	named   func() bool // whether --name or --data-dir was given
	noted   sync.Once   // by noteChoice
	choice  *selection  // by selected
	quiet   bool        // noteChoice and warnOfVersion say nothing
	changes bool        // the verb changes the control plane: see toChange
	context string      // what name was given as, if acceptContextName has changed it

	versionNoted sync.Once // by warnOfVersion
	unknownNoted sync.Once // by rejectUnknownKubeconfig
}

func (t *target) addFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&t.name, "name", "default", "name of the control plane")
	f.StringVar(&t.dataDir, "data-dir", "", "data folder (default: a folder for the name, in the platform's state folder)")
	t.named = func() bool { return f.Changed("name") || f.Changed("data-dir") }
}

// acceptContextName lets --name be what a kubeconfig calls the control plane, unless that
// is the name of another one.
func (t *target) acceptContextName() {
	name, ok := datadir.NameOfContext(t.name)
	if !ok {
		return
	}
	if path, err := datadir.Path(t.name, ""); err == nil {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.name, t.context = name, t.name
}

// quoteWord quotes a word of a command that is suggested to the user.
func quoteWord(s string) string { return userShell().Quote(s) }

// quoteCommand quotes a command that is suggested to the user.
func quoteCommand(line string) string { return ui.QuoteCommand(line) }

// programWord is this program in a command that is suggested to the user.
func programWord() string {
	if os.Getenv(learn.DataDirEnv) != "" { // in the PATH of a lesson's shell
		return "ctrlplane"
	}
	return userShell().Program(os.Args[0])
}

func userShell() ui.Shell { return ui.DetectShell(runtime.GOOS, os.Environ()) }

// quoteCommand is the command line of a verb for this control plane in a sentence.
func (t *target) quoteCommand(verb string) string { return quoteCommand(t.commandLine(verb)) }

// commandLine is the command line of a verb for this control plane.
func (t *target) commandLine(verb string) string {
	if t.inLessonShell() {
		return lessonCommand(verb)
	}
	return strings.Join(slices.DeleteFunc([]string{programWord(), t.flag(), verb}, func(s string) bool { return s == "" }), " ")
}

// flag selects this control plane on a command line; empty if verbs select it by its name without one.
func (t *target) flag() string {
	switch {
	case t.dataDir != "":
		return "--data-dir " + quoteWord(t.dataDir)
	case t.name != "default" || t.named != nil && t.named():
		return "--name " + quoteWord(t.name)
	}
	return ""
}
