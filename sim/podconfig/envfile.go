package podconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	envutil "k8s.io/kubernetes/pkg/kubelet/util/env"
)

// NeedsFiles reports whether the environment of a container is in files of its Pod.
func NeedsFiles(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.ValueFrom != nil && v.ValueFrom.FileKeyRef != nil })
}

// fileValue returns the value of a variable in a file; false if it is optional and missing.
func (e *environment) fileValue(ctx context.Context, ref *corev1.FileKeySelector) (string, bool, error) {
	file, err := e.openFile(ctx, ref)
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	value := ""
	if err == nil {
		value, err = file.parse(ref.Key)
	}
	switch {
	case err != nil: // upstream has the reason in the log of the kubelet
		return "", false, fmt.Errorf("couldn't parse env file: %w", err)
	case value == "" && !isTrue(ref.Optional):
		return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, path.Join(ref.VolumeName, ref.Path))
	}
	return value, value != "", nil
}

// openFile returns the file that a variable refers to. It is read once for all variables.
func (e *environment) openFile(ctx context.Context, ref *corev1.FileKeySelector) (*envFile, error) {
	id := [2]string{ref.VolumeName, ref.Path}
	if file := e.files[id]; file != nil {
		return file, nil
	}
	data, err := e.from.File(ctx, e.pod, ref.VolumeName, ref.Path, maxContainerBytes)
	if err != nil {
		return nil, err
	}
	file, err := newEnvFile(data)
	if err == nil {
		e.files[id] = file
	}
	return file, err
}

// closeFiles releases what openFile has opened.
func (e *environment) closeFiles() error {
	var all error
	for _, file := range e.files {
		all = errors.Join(all, file.close())
	}
	return all
}

// envFile is a copy on the host of a file with variables: upstream's parser takes only the
// name of a file.
type envFile struct {
	file *os.File
	name string
}

const envFilePrefix = "ctrlplane-env-"

// newEnvFile writes a copy. Where the system has a name for an open file, the copy has no
// other: a process that is killed leaves no credentials behind. Elsewhere, on Windows, the
// next process removes them.
func newEnvFile(data []byte) (*envFile, error) {
	file, err := os.CreateTemp("", envFilePrefix)
	if err != nil {
		return nil, err
	}
	e := &envFile{file, file.Name()}
	if open := fmt.Sprintf("/dev/fd/%d", file.Fd()); isFile(open) {
		if err := os.Remove(e.name); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		e.name = open
	} else {
		removeLeftovers()
	}
	if _, err := file.Write(data); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// removeLeftovers removes the copies of processes that were killed, once.
var removeLeftovers = sync.OnceFunc(func() { removeOldEnvFiles(os.TempDir(), time.Now().Add(-leftoverAge)) })

// leftoverAge is far more than a copy is in use for.
const leftoverAge = time.Minute

// removeOldEnvFiles removes the copies in a folder that are older than a time. Those that
// cannot be removed belong to another user.
func removeOldEnvFiles(dir string, before time.Time) {
	entries, _ := os.ReadDir(dir) // what it returns beside an error counts
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), envFilePrefix) || !entry.Type().IsRegular() {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (e *envFile) parse(key string) (string, error) {
	if _, err := e.file.Seek(0, io.SeekStart); err != nil { // macOS shares the position
		return "", err
	}
	value, err := envutil.ParseEnv(e.name, key)
	if err != nil {
		return "", errors.New(strings.ReplaceAll(err.Error(), fmt.Sprintf(" %q", e.name), "")) // not a name that the user knows
	}
	return value, nil
}

func (e *envFile) close() error {
	err := e.file.Close()
	if e.name == e.file.Name() {
		err = errors.Join(err, os.Remove(e.name))
	}
	return err
}
