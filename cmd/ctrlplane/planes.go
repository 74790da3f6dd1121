package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// States of a data folder in "ctrlplane list".
const (
	planeRunning      = "running"
	planeStarting     = "starting"
	planeStopped      = "stopped"
	planeCrashed      = "crashed"      // its process has ended without closing the folder
	planeDamaged      = "damaged"      // the folder cannot be read
	planeInaccessible = "inaccessible" // this user may not read the folder
	planeIncompatible = "incompatible" // a newer version has written the folder
)

// plane is a control plane in a data folder, running or not.
type plane struct {
	Name       string    `json:"name,omitempty"`
	State      string    `json:"state"`
	DataDir    string    `json:"dataDir"`
	Ephemeral  bool      `json:"ephemeral,omitempty"`
	Private    bool      `json:"private,omitempty"` // of a run or a test
	PID        int       `json:"pid,omitempty"`
	URL        string    `json:"url,omitempty"`
	Kubernetes string    `json:"kubernetes,omitempty"`
	Started    time.Time `json:"started,omitzero"`    // the last time
	Bytes      int64     `json:"bytes"`               // the size of the folder
	Suspended  bool      `json:"suspended,omitempty"` // its process is, as by Ctrl-Z
	Error      string    `json:"error,omitempty"`     // why it is damaged, inaccessible or incompatible

	logFile string // if it is not in the data folder
	foreign bool   // it was started with another HOME
}

// newPlane describes a data folder; without a name, by the recorded one.
func newPlane(name, path string) (plane, error) {
	info, err := datadir.Inspect(path)
	p := plane{
		Name: name, State: planeStopped, DataDir: path, Ephemeral: info.Ephemeral, Private: info.Private, PID: info.PID,
		Kubernetes: info.DescribeKubernetes(), Started: info.StartedAt, Bytes: info.Bytes, Suspended: info.Suspended,
		logFile: info.LogFile, foreign: info.Foreign,
	}
	if name == "" {
		p.Name = info.Name
	}
	switch {
	case fileerror.IsNotWritable(err):
		p.State, p.Error = planeInaccessible, err.Error()
	case errors.As(err, new(*datadir.NewerFormatError)):
		p.State, p.Error = planeIncompatible, err.Error()
	case err != nil:
		p.State, p.Error = planeDamaged, err.Error()
	case info.Running && info.Server == "":
		p.State = planeStarting
	case info.Running:
		p.State, p.URL = planeRunning, info.Server
	case info.Crashed:
		p.State = planeCrashed
	}
	return p, err
}

// rejectStop returns an error for the control plane of the run or test whose command this
// process is: to stop it would end the command.
func (p plane) rejectStop() error {
	if p.Private && p.isUp() && p.DataDir == os.Getenv(dataDirEnv) {
		return fmt.Errorf("control plane %q belongs to the run or test that has started this command, and ends after it: nothing was stopped: end the command instead", p.Name)
	}
	return nil
}

// wrapError says which control plane an error is about. Without a name the folder says that, which errors about one name.
func (p plane) wrapError(err error) error {
	if p.Name == "" {
		return err
	}
	return fmt.Errorf("control plane %q: %w", p.Name, err)
}

// describe names the control plane in the output of a verb that has changed it.
func (p plane) describe() string {
	return candidate{p.DataDir, datadir.State{Name: p.Name}}.describe()
}

func (p plane) isUp() bool { return p.State == planeRunning || p.State == planeStarting }

// flag selects the control plane on a command line.
func (p plane) flag() string { return selectingFlag(p.Name, p.DataDir, p.Ephemeral) }

// selectingFlag selects a control plane on a command line: by the path of its data folder if it has no name, or if byPath is
// set, as another one may have its name.
func selectingFlag(name, path string, byPath bool) string {
	if name == "" || byPath {
		return "--data-dir " + quoteWord(path)
	}
	return "--name " + name
}

// allPlanes lists the control planes of this user in the platform's state folder, by name,
// and then the ephemeral ones, without those of another HOME: a test of another project may
// have started them. If the state folder cannot be entered it returns the ephemeral ones, and a
// *datadir.StateFolderError.
func allPlanes() ([]plane, error) {
	var list []plane
	add := func(name, path string) {
		p, err := newPlane(name, path)
		if !errors.As(err, new(*datadir.NotFoundError)) && !p.foreign { // removed meanwhile, or just being created
			list = append(list, p)
		}
	}
	stateErr := eachNamed(add)
	if stateErr != nil && !datadir.IsStateFolderError(stateErr) {
		return nil, stateErr
	}
	ephemeral, err := datadir.EphemeralDirs()
	if err != nil {
		return nil, err
	}
	slices.Sort(ephemeral)
	for _, path := range ephemeral {
		add("", path)
	}
	return list, stateErr
}

// warnOfUnlisted replaces the error that named control planes cannot be listed by a warning, if
// there are others to work on.
func warnOfUnlisted(list []plane, err error) ([]plane, error) {
	if len(list) == 0 || !datadir.IsStateFolderError(err) {
		return list, err
	}
	printWarning("named control planes cannot be listed: " + err.Error())
	return list, nil
}

// isMissing reports whether an error says that a data folder does not exist, or that this user cannot
// reach it.
func isMissing(err error) bool {
	return errors.As(err, new(*datadir.NotFoundError)) || datadir.IsStateFolderError(err)
}

// eachNamed calls do for each control plane in the platform's state folder, by name.
func eachNamed(do func(name, path string)) error {
	names, err := datadir.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		path, err := datadir.Path(name, "")
		if err != nil {
			return err
		}
		do(name, path)
	}
	return nil
}

// findPlane finds the control plane that is selected, running or not. An ephemeral one is
// found by its name if it runs.
func (t *target) findPlane() (plane, error) {
	p, err := t.planeOfFolder()
	if !isMissing(err) {
		return p, err
	}
	if t.dataDir != "" && !datadir.IsStateFolderError(err) {
		err = usage.Errorf("%w: check --data-dir", err)
	}
	if t.dataDir != "" {
		return plane{}, err
	}
	all, err := allPlanes()
	if err != nil && !datadir.IsStateFolderError(err) {
		return plane{}, err
	}
	same := slices.DeleteFunc(slices.Clone(all), func(p plane) bool { return p.Name != t.name })
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return plane{}, fmt.Errorf("several control planes are called %q: choose one: %s", t.name, joinFlags(same))
	case err != nil:
		return plane{}, err
	}
	return plane{}, unknownPlane(t.name, all)
}

// planeOfFolder describes the selected data folder. The error says why there is none: one that is
// damaged has its error in the plane.
func (t *target) planeOfFolder() (plane, error) {
	path, err := t.dataDirPath()
	if err != nil {
		return plane{}, err
	}
	name := t.name
	if t.dataDir != "" || !t.named() && os.Getenv(dataDirEnv) != "" {
		name = ""
	}
	p, err := newPlane(name, path)
	if isMissing(err) {
		return plane{}, err
	}
	return p, nil
}

func joinFlags(list []plane) string {
	flags := make([]string, len(list))
	for i, p := range list {
		flags[i] = p.flag()
	}
	return strings.Join(flags, ", ")
}

func unknownPlane(name string, all []plane) error {
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
	}
	return usage.Errorf("control plane %q does not exist: %s", name, suggest.Hint(name, known, `"ctrlplane list" lists them`))
}
