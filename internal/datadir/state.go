package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// State is what a control plane records in its data folder.
type State struct {
	// Name of the control plane.
	Name string `json:"name,omitempty"`
	// Private says that commands which name no control plane do not take this one.
	Private bool `json:"private,omitempty"`
	// Port of the API server, kept from one start to the next; 0 = none yet.
	Port int `json:"port,omitempty"`
	// Server is the URL of the API server.
	Server string `json:"server,omitempty"`
	// CtrlplaneVersion is the version of ctrlplane that the last start had; empty = one that did not record it.
	CtrlplaneVersion string `json:"ctrlplaneVersion,omitempty"`
	// KubernetesVersion is that of the last program that has written to the folder.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// EmulatedVersion is the minor version that it has emulated, as 1.35; empty = none.
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// EtcdPrefix is where the API server keeps its keys in the embedded etcd; empty = the
	// API server's default.
	EtcdPrefix string `json:"etcdPrefix,omitempty"`
	// EmbeddedEtcd says that the folder holds the data of an embedded etcd.
	EmbeddedEtcd bool `json:"embeddedEtcd,omitempty"`
	// EtcdCluster says that the last start used an etcd cluster: what an embedded etcd in the
	// folder holds may be older.
	EtcdCluster bool `json:"etcdCluster,omitempty"`
	// LogFile is the path of the log, if it is not in the folder.
	LogFile string `json:"logFile,omitempty"`
	// StartedAt is when the last start began.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// PID is the process that uses the folder; 0 = none. Open records it, State and Peek
	// return it, SaveState ignores it.
	PID int `json:"-"`
}

// DescribeKubernetes returns the version that clients have met, for people: v1.37.1, or
// "1.35 (emulated by 1.37.1)"; empty if it is not known.
func (s State) DescribeKubernetes() string {
	if s.EmulatedVersion == "" {
		return s.KubernetesVersion
	}
	return fmt.Sprintf("%s (emulated by %s)", s.EmulatedVersion, strings.TrimPrefix(s.KubernetesVersion, "v"))
}

// State returns what was saved last; except for PID, it is zero if nothing was saved.
func (d *Dir) State() (State, error) {
	s, err := readState(d.path)
	s.PID = os.Getpid()
	return s, err
}

// SaveState replaces the saved state atomically. It survives a crash of the machine unless
// the folder is ephemeral.
func (d *Dir) SaveState(s State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("data folder %s: %w", d.path, err)
	}
	if err := durable.Write(d.Join(stateFile), append(data, '\n'), !d.ephemeral); err != nil {
		return explainError(d.path, "write "+stateFile, err)
	}
	return nil
}

func readState(path string) (State, error) {
	data, err := inuse.ReadFile(filepath.Join(path, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, explainError(path, "read "+stateFile, err)
	}
	var s State
	err = json.Unmarshal(data, &s)
	if err == nil && (s.Port < 0 || s.Port > 65535) {
		err = fmt.Errorf("port is %d", s.Port)
	}
	if err != nil {
		return State{}, fmt.Errorf("data folder %s: %s is corrupt (%w): remove that file, and the next start chooses a new port", path, stateFile, err)
	}
	return s, nil
}

// Peek reads the state of a folder that another process may use, and reports whether one
// does. For a folder that does not exist it returns false.
func Peek(path string) (s State, running bool, err error) {
	s, err = readState(path)
	if err != nil {
		return State{}, false, err
	}
	s.PID, running, err = findHolder(path)
	if err != nil {
		return State{}, false, explainError(path, "read its lock or "+pidFile, err)
	}
	return s, running, nil
}

// findHolder reports whether a process uses the folder, and its PID; 0 = unknown. Because another
// Peek may hold the lock for a moment, a lock counts only if the recorded process runs or if it
// stays held.
func findHolder(path string) (pid int, held bool, err error) {
	lock, err := tryLock(path, false)
	if fileerror.IsNotWritable(err) {
		return findReadOnlyHolder(path, err)
	}
	if !errors.Is(err, filelock.ErrHeld) {
		held, err = isLocked(lock, err)
		return 0, held, err
	}
	// Its PID is not read again: the process may have removed it by then.
	if pid, runs, err := readOwner(path); err != nil || runs {
		return pid, runs, err
	}
	if held, err := staysHeld(path); err != nil || !held {
		return 0, false, err
	}
	pid, err = readPID(path)
	return pid, true, err
}

// findReadOnlyHolder is findHolder for a folder whose lock file may only be read, as on a read-only
// mount. The process that uses it may have another mount, or be in another container.
func findReadOnlyHolder(path string, lockErr error) (pid int, held bool, err error) {
	look := func() error {
		held, err := filelock.IsHeld(filepath.Join(path, lockFile))
		if err == nil && held {
			return filelock.ErrHeld
		}
		return err
	}
	err = look()
	if errors.Is(err, filelock.ErrHeld) {
		if pid, runs, err := readOwner(path); err != nil || runs {
			return pid, runs, err
		}
		err = retryHeld(look)
	}
	switch {
	case errors.Is(err, filelock.ErrHeld):
		pid, err = readPID(path)
		return pid, true, err
	case err != nil && !errors.Is(err, fs.ErrNotExist): // the process has not just removed it
		return 0, false, lockErr
	}
	return 0, false, nil
}

// staysHeld reports whether the lock is held for longer than a Peek takes.
func staysHeld(path string) (bool, error) { return isLocked(acquireLock(path, false)) }

// isLocked reports what an attempt to lock a folder has found, and unlocks it again.
func isLocked(lock *os.File, err error) (bool, error) {
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, lock.Close()
}
