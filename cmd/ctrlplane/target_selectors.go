package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// selector is one way to select a control plane.
type selector struct {
	// find returns the data folder, empty if the next selector decides.
	find func(*target) (path string, err error)
	// byName says that the selector counts for verbs that start or manage control planes by their name, too, such as up
	// and down.
	byName bool
	// instead returns what a verb takes if the control plane is not running; nil if it takes none. With a notRunningError a
	// verb may go on without it, or with its folder.
	instead func(*target, candidate) (*candidate, error)
	// note says on stderr that the control plane was selected; nil if the user knows that.
	note func(*target, candidate)
}

// selectors returns the ways to select a control plane, the first of which that finds a data folder decides.
func selectors() []selector {
	return []selector{
		{find: (*target).folderOfFlags, byName: true, instead: (*target).ephemeralOfName},
		{find: (*target).folderOfEnvironment, byName: true, instead: (*target).notRunningInEnvironment},
		{find: folderOfKubeconfig, instead: (*target).notRunningOfKubeconfig, note: (*target).noteKubeconfig},
		{find: (*target).folderOfName, byName: true, instead: (*target).onlyOneRunning},
	}
}

// candidate is a control plane that a verb may mean.
type candidate struct {
	path  string
	state datadir.State
}

func newCandidate(path string, state datadir.State) candidate {
	if named, err := datadir.Path(filepath.Base(path), ""); err == nil && named == path {
		state.Name = filepath.Base(path) // the user may have renamed the folder
	}
	return candidate{path, state}
}

// target selects the control plane by flags.
func (c candidate) target() *target {
	t := &target{name: c.state.Name}
	if named, err := datadir.Path(t.name, ""); err != nil || named != c.path {
		t.dataDir = c.path
	}
	return t
}

// describe names the control plane, with the folder if that is not the one of the name: several may have one name.
func (c candidate) describe() string {
	switch {
	case c.state.Name == "":
		return "control plane in " + c.path
	case c.target().dataDir != "":
		return fmt.Sprintf("control plane %q in %s", c.state.Name, c.path)
	}
	return fmt.Sprintf("control plane %q", c.state.Name)
}

// selection is the data folder that a verb works on.
type selection struct {
	selector
	path string
	err  error // why there is none
	// unknown says why KUBECONFIG has selected none although it seems to be of a control plane.
	unknown error
}

func (t *target) find(applies func(selector) bool) (s selection) {
	for _, s.selector = range selectors() {
		if !applies(s.selector) {
			continue
		}
		s.path, s.err = s.selector.find(t)
		if unknown, ok := errors.AsType[unknownKubeconfigError](s.err); ok {
			s.unknown, s.err = unknown, nil
		}
		if s.path != "" || s.err != nil {
			break
		}
	}
	return s
}

// dataDirPath is the data folder of the control plane for a verb that starts or manages control planes by their name.
func (t *target) dataDirPath() (string, error) {
	s := t.find(func(s selector) bool { return s.byName })
	return s.path, s.err
}

// selected is the data folder for a verb that works on a control plane that exists. It stays the same: kubectl gets
// another KUBECONFIG.
func (t *target) selected() selection {
	if t.choice == nil {
		s := t.find(func(selector) bool { return true })
		t.choice = &s
	}
	return *t.choice
}

// toChange makes the verb one that changes the control plane: it never takes one that is merely the only one running.
func (t *target) toChange() *target {
	t.changes = true
	return t
}

// notRunningError says that the control plane is not running.
type notRunningError struct{ error }

// ambiguousError says that the selected control plane is not running, and that a verb that changes something, another one or
// the stopped one, needs a name.
type ambiguousError struct{ error }

// runningDataDir returns the data folder of the running control plane. It fails if the control plane is not running, or
// still starting.
func (t *target) runningDataDir() (string, error) {
	c, err := t.running()
	return c.path, err
}

// running returns the selected control plane, or what its selector takes instead of one that is not running.
func (t *target) running() (candidate, error) {
	s := t.selected()
	if err := t.rejectUnknownKubeconfig(s.unknown); err != nil {
		return candidate{}, err
	}
	c, running, err := s.peek()
	if err != nil && (t.dataDir != "" || !datadir.IsStateFolderError(err)) {
		return candidate{}, err
	}
	switch {
	case !running:
		if c, err = t.insteadOf(s, c, err); err != nil {
			return candidate{}, err
		}
	case s.note != nil:
		s.note(t, c)
	}
	if c.state.Server != "" {
		return c, nil
	}
	if err := rejectSuspended(c.path); err != nil {
		return candidate{}, err
	}
	return candidate{}, fmt.Errorf("the control plane in %s is still starting: try again in a moment", c.path)
}

// peek reads the state of the data folder.
func (s selection) peek() (c candidate, running bool, err error) {
	if s.err != nil {
		return candidate{}, false, s.err
	}
	state, running, err := datadir.Peek(s.path)
	return newCandidate(s.path, state), running, err
}

// byName returns a target for the verbs that start and manage control planes by their name: for them KUBECONFIG selects
// none.
func (t *target) byName() *target {
	if t.choice == nil || t.choice.byName || t.choice.err != nil {
		return t
	}
	c, _, _ := t.choice.peek() // without a state the folder selects it
	return c.target()
}

// insteadOf returns what a verb takes instead of a control plane that is not running; why is known if its folder cannot be
// reached.
func (t *target) insteadOf(s selection, c candidate, why error) (candidate, error) {
	other, err := s.instead(t, c)
	switch {
	case err != nil:
		return candidate{}, err
	case other != nil:
		return *other, nil
	case why != nil:
		return candidate{}, notRunningError{why}
	}
	err = t.notRunning(c.path)
	if t.isDefault() && !datadir.Exists(c.path) { // the user may have started one in another folder
		err = fmt.Errorf("%w, or choose another one with --data-dir", err)
	}
	return candidate{}, notRunningError{err}
}

// notRunning says what to do about a control plane that is not running.
func (t *target) notRunning(path string) error {
	if info, err := datadir.Inspect(path); err == nil && info.Crashed {
		return fmt.Errorf("control plane %q is not running: it has crashed or was killed: %s shows its log, start it again with %s", t.name, t.quoteCommand("logs"), t.quoteCommand("up"))
	}
	return fmt.Errorf("control plane %q is not running: start it with %s", t.name, t.startCommand(path))
}

// startCommand is the command that starts a control plane that is not running, in a sentence. An ephemeral one leaves no
// folder: "up" would start another one, without what the verb of its name does.
func (t *target) startCommand(path string) string {
	if start := ephemeralStarts[t.name]; start != "" && t.dataDir == "" && !datadir.Exists(path) {
		return quoteCommand(programWord() + " " + start)
	}
	return t.quoteCommand("up")
}

// folderOfFlags is the data folder of --name or --data-dir.
func (t *target) folderOfFlags() (string, error) {
	if !t.named() {
		return "", nil
	}
	return t.folder(t.dataDir)
}

// folderOfEnvironment is the data folder of the environment, as in a command of run.
func (t *target) folderOfEnvironment() (string, error) {
	if os.Getenv(dataDirEnv) == "" {
		return "", nil
	}
	return t.folder(os.Getenv(dataDirEnv))
}

// folderOfName is the data folder of the default name.
func (t *target) folderOfName() (string, error) { return t.folder("") }

func (t *target) folder(override string) (string, error) {
	if err := datadir.ValidateName(t.name); err != nil {
		return "", usage.Errorf("--name: %w", err)
	}
	return datadir.Path(t.name, override)
}

// ephemeralOfName finds a running ephemeral control plane by its name.
func (t *target) ephemeralOfName(candidate) (*candidate, error) {
	if t.dataDir != "" {
		return nil, nil
	}
	return onlyOne(peekEach(datadir.EphemeralDirs, func(c candidate) bool { return c.state.Name == t.name }))
}

func (t *target) notRunningInEnvironment(c candidate) (*candidate, error) {
	return nil, notRunningError{fmt.Errorf("no control plane is running in %s, the value of %s: unset it, or choose one with --name or --data-dir", c.path, dataDirEnv)}
}

// notRunningOfKubeconfig names the control plane of KUBECONFIG and those that may be meant in its place: an answer of
// another one would be wrong, and so would a change of it.
func (t *target) notRunningOfKubeconfig(c candidate) (*candidate, error) {
	others, err := peekEach(dataDirs, func(other candidate) bool { return !other.state.Private })
	if err != nil {
		return nil, err
	}
	own := c.target()
	var choices []string
	if path, err := t.folderOfName(); err == nil && !own.isDefault() && datadir.Exists(path) {
		choices = append(choices, "--name default")
	}
	for _, flag := range flagsOf(others) {
		if !slices.Contains(choices, flag) {
			choices = append(choices, flag)
		}
	}
	text := "KUBECONFIG: " + own.notRunning(c.path).Error()
	if len(choices) > 0 {
		text += ", or choose another one: " + strings.Join(choices, ", ")
	}
	if t.changes && (len(others) > 0 || !own.isDefault()) {
		return nil, ambiguousError{errors.New(text)}
	}
	return nil, notRunningError{errors.New(text)}
}

// isDefault reports whether a verb that starts or manages control planes by their name takes this one if none is named.
func (t *target) isDefault() bool { return t.flag() == "" }

// onlyOneRunning finds the control plane that is the only one running, for a verb that only reads.
func (t *target) onlyOneRunning(candidate) (*candidate, error) {
	others, err := peekEach(dataDirs, func(c candidate) bool { return !c.state.Private })
	c, err := onlyOne(others, err)
	switch {
	case err != nil && t.changes && len(others) > 1:
		return nil, ambiguousError{err}
	case c == nil || err != nil:
		return nil, err
	case t.changes:
		return nil, ambiguousError{fmt.Errorf("control plane %q is not running: to change another one use %s", t.name, selectingFlag(c.state.Name, c.path, false))}
	}
	t.noteChoice(*c, "the only one running")
	return c, nil
}

func onlyOne(list []candidate, err error) (*candidate, error) {
	switch {
	case err != nil || len(list) == 0:
		return nil, err
	case len(list) > 1:
		return nil, fmt.Errorf("several control planes are running: choose one: %s", strings.Join(flagsOf(list), ", "))
	}
	return &list[0], nil
}

// flagsOf returns the flags that select control planes, of which several may have one name.
func flagsOf(list []candidate) []string {
	names := map[string]int{}
	for _, c := range list {
		names[c.state.Name]++
	}
	flags := make([]string, len(list))
	for i, c := range list {
		flags[i] = selectingFlag(c.state.Name, c.path, names[c.state.Name] > 1)
	}
	return flags
}

// noteChoice says which control plane is used although none was named.
func (t *target) noteChoice(c candidate, why string) {
	if t.quiet {
		return
	}
	t.noted.Do(func() {
		fmt.Fprintf(stderr, "ctrlplane: using control plane %q in %s, %s\n", cmp.Or(c.state.Name, t.name), c.path, why)
	})
}

// peekEach returns the running control planes of a list of folders for which keep
// returns true, without those of another HOME.
func peekEach(list func() ([]string, error), keep func(candidate) bool) (found []candidate, err error) {
	paths, err := list()
	for _, path := range paths {
		if datadir.IsForeign(path) {
			continue
		}
		state, running, err := datadir.Peek(path)
		if c := newCandidate(path, state); err == nil && running && keep(c) {
			found = append(found, c)
		}
	}
	return found, err
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
