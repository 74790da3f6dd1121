package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// dataDirEnv replaces --data-dir where no flag is given. "run" sets it for its
// command, so that verbs in the command use its control plane.
const dataDirEnv = "CTRLPLANE_DATA_DIR"

// target selects the control plane that a verb works on.
type target struct {
	name    string
	dataDir string
	named   func() bool // whether --name or --data-dir was given
	noted   sync.Once   // by noteChoice
	quiet   bool        // noteChoice and warnOfVersion say nothing
	changes bool        // the verb changes the control plane: see toChange
	context string      // what name was given as, if acceptContextName has changed it

	versionNoted sync.Once // by warnOfVersion
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

// toChange makes the verb one that changes the control plane: if none is named, it takes another one than the default one
// only if KUBECONFIG is that of the other one, although that may be the only one running.
func (t *target) toChange() *target {
	t.changes = true
	return t
}

// notRunningError says that the control plane is not running.
type notRunningError struct{ error }

// otherRunningError says that other control planes are running than the default one, which is
// meant.
type otherRunningError struct{ error }

// dataDirPath is the data folder of the control plane, by flag or else by environment.
func (t *target) dataDirPath() (string, error) {
	if err := datadir.ValidateName(t.name); err != nil {
		return "", usage.Errorf("--name: %w", err)
	}
	if t.named() {
		return datadir.Path(t.name, t.dataDir)
	}
	return datadir.Path(t.name, os.Getenv(dataDirEnv))
}

// runningDataDir returns the data folder of the running control plane. If none is named
// and the default one is not running, a verb that only reads takes the only one that is
// running, which stderr then says. It fails if the control plane is not running, or still
// starting.
func (t *target) runningDataDir() (string, error) {
	path, state, running, stateErr := t.peek()
	if stateErr != nil && (t.dataDir != "" || !datadir.IsStateFolderError(stateErr)) {
		return "", stateErr
	}
	if !running && !t.named() && os.Getenv(dataDirEnv) != "" {
		return "", notRunningError{fmt.Errorf("no control plane is running in %s, the value of %s: unset it, or choose one with --name or --data-dir", path, dataDirEnv)}
	}
	if !running && t.dataDir == "" {
		others, err := t.candidates()
		if err != nil {
			return "", err
		}
		switch several := len(others) > 1; {
		case several && t.changes && !t.named():
			return "", otherRunningError{severalRunningError(others)}
		case several:
			return "", severalRunningError(others)
		}
		if len(others) == 1 && t.changes && !t.named() && !inKubeconfig(others[0].path) {
			return "", otherRunningError{fmt.Errorf("control plane %q is not running: to change another one use %s", t.name, selectingFlag(others[0].state.Name, others[0].path, false))}
		}
		if len(others) == 1 {
			path, state, running = others[0].path, others[0].state, true
			t.noteChoice(others[0])
		}
	}
	switch {
	case !running && stateErr != nil:
		return "", notRunningError{stateErr}
	case !running:
		return "", t.notRunning(path)
	case state.Server == "":
		if err := rejectSuspended(path); err != nil {
			return "", err
		}
		return "", fmt.Errorf("the control plane in %s is still starting: try again in a moment", path)
	}
	return path, nil
}

// peek reads the state of the selected data folder.
func (t *target) peek() (path string, state datadir.State, running bool, err error) {
	path, err = t.dataDirPath()
	if err == nil {
		state, running, err = datadir.Peek(path)
	}
	return path, state, running, err
}

// notRunning says what to do about a control plane that is not running.
func (t *target) notRunning(path string) error {
	if info, err := datadir.Inspect(path); err == nil && info.Crashed {
		return notRunningError{fmt.Errorf("control plane %q is not running: it has crashed or was killed: %s shows its log, start it again with %s", t.name, t.quoteCommand("logs"), t.quoteCommand("up"))}
	}
	return notRunningError{fmt.Errorf("control plane %q is not running: start it with %s", t.name, t.quoteCommand("up"))}
}

// noteChoice says which control plane is used although none was named.
func (t *target) noteChoice(c candidate) {
	if t.quiet || t.named() || inKubeconfig(c.path) {
		return
	}
	t.noted.Do(func() {
		fmt.Fprintf(stderr, "ctrlplane: using control plane %q in %s, the only one running\n", c.state.Name, c.path)
	})
}

// candidate is a running control plane that a verb may mean.
type candidate struct {
	path  string
	state datadir.State
}

// candidates lists the running control planes that the target can mean if none is
// running in the data folder of its name: a given name may be that of an ephemeral one.
// If no name is given, private ones do not count, unless KUBECONFIG is theirs.
func (t *target) candidates() ([]candidate, error) {
	if t.named() {
		return peekEach(datadir.EphemeralDirs, func(c candidate) bool { return c.state.Name == t.name })
	}
	others, err := peekEach(dataDirs, func(c candidate) bool { return !c.state.Private || inKubeconfig(c.path) })
	if i := slices.IndexFunc(others, func(c candidate) bool { return inKubeconfig(c.path) }); i >= 0 {
		others = others[i : i+1]
	}
	return others, err
}

// peekEach returns the running control planes of a list of folders for which keep
// returns true, without those of another HOME unless KUBECONFIG is theirs.
func peekEach(list func() ([]string, error), keep func(candidate) bool) (found []candidate, err error) {
	paths, err := list()
	for _, path := range paths {
		if datadir.IsForeign(path) && !inKubeconfig(path) {
			continue
		}
		state, running, err := datadir.Peek(path)
		if named, nameErr := datadir.Path(filepath.Base(path), ""); nameErr == nil && named == path {
			state.Name = filepath.Base(path) // the user may have renamed the folder
		}
		if c := (candidate{path, state}); err == nil && running && keep(c) {
			found = append(found, c)
		}
	}
	return found, err
}

func severalRunningError(list []candidate) error {
	flags := make([]string, len(list))
	for i, c := range list {
		same := slices.ContainsFunc(list[:i], func(o candidate) bool { return o.state.Name == c.state.Name }) ||
			slices.ContainsFunc(list[i+1:], func(o candidate) bool { return o.state.Name == c.state.Name })
		flags[i] = selectingFlag(c.state.Name, c.path, same)
	}
	return fmt.Errorf("several control planes are running: choose one: %s", strings.Join(flags, ", "))
}

// inKubeconfig reports whether KUBECONFIG is a kubeconfig of a data folder: the administrator's,
// or that of a ServiceAccount.
func inKubeconfig(dir string) bool {
	inFolder, file := filepath.Dir(os.Getenv("KUBECONFIG")), filepath.Base(os.Getenv("KUBECONFIG"))
	same := inFolder == dir
	if runtime.GOOS == "windows" {
		same = strings.EqualFold(inFolder, dir)
	}
	return same && (file == ctrlplane.KubeconfigFile || strings.HasPrefix(file, ctrlplane.KubeconfigFile+"."))
}

// dataDirs lists the data folders of all control planes, running or not, that are ephemeral
// or in the platform's state folder, if that can be entered.
func dataDirs() ([]string, error) {
	paths, err := datadir.EphemeralDirs()
	if err != nil {
		return nil, err
	}
	if err = eachNamed(func(_, path string) { paths = append(paths, path) }); datadir.IsStateFolderError(err) {
		err = nil
	}
	return paths, err
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
	program := programWord()
	switch {
	case t.inLessonShell():
		return lessonCommand(verb)
	case t.dataDir != "":
		return program + " --data-dir " + quoteWord(t.dataDir) + " " + verb
	case t.name != "default":
		return program + " --name " + t.name + " " + verb
	}
	return program + " " + verb
}
