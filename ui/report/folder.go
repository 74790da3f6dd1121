package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// Names of the files in the folder of a report.
const (
	PageFile    = "report.html"
	EventsFile  = replay.EventsFile
	JUnitFile   = "junit.xml"
	ObjectsFile = "objects.yaml"
	LogFile     = "ctrlplane.log"
	OutputFile  = "output.log"
)

// folder is the folder of a report. Files are written to a staging folder inside it
// and moved into place when they are complete.
type folder struct {
	path    string // absolute
	staging string
	lock    *os.File // in the staging folder, while the run goes on
}

const (
	unfinished = replay.UnfinishedPrefix // begins the name of a staging folder
	lockFile   = "lock"
)

func openFolder(path string) (*folder, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(abs, 0o777)
	}
	f := &folder{path: abs}
	if err == nil {
		err = f.stage()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write a report to %s: %w: use another folder", path, fileerror.WithoutPath(err))
	}
	return f, nil
}

// stage creates the staging folder. It is locked before the others are looked at, so that of
// two runs that start at the same time at most one gets the folder.
func (f *folder) stage() (err error) {
	if f.staging, err = os.MkdirTemp(f.path, unfinished+"*"); err != nil {
		return err
	}
	f.lock, err = filelock.TryLock(filepath.Join(f.staging, lockFile), true)
	if err == nil {
		err = f.removeUnfinished()
	}
	if err == nil {
		err = f.removeEarlier()
	}
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return errors.Join(errors.New("another run is writing one there"), f.close())
	case err != nil:
		return errors.Join(err, f.close())
	}
	return nil
}

// removeEarlier removes the files of an earlier report: none of them can be taken for this
// one's, however the run ends.
func (f *folder) removeEarlier() error {
	for _, name := range []string{PageFile, EventsFile, JUnitFile, ObjectsFile, LogFile, OutputFile} {
		if err := durable.Remove(filepath.Join(f.path, name), false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, fileerror.WithoutPath(err))
		}
	}
	return nil
}

// removeUnfinished removes the staging folders of runs that were killed: their locks went
// with them. It fails with filelock.ErrHeld if a run goes on.
func (f *folder) removeUnfinished() error {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		staging := filepath.Join(f.path, e.Name())
		if !strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), unfinished) || staging == f.staging { // hidden: of an earlier version
			continue
		}
		lock, lockErr := filelock.TryLock(filepath.Join(staging, lockFile), false)
		switch {
		case errors.Is(lockErr, filelock.ErrHeld):
			return lockErr
		case lockErr != nil: // a run has just created it
			continue
		}
		err = errors.Join(err, lock.Close(), removeAll(staging))
	}
	return err
}

// createStaged creates a file in the staging folder. Only its owner can read the log, as
// where it is copied from; the other files contain no values of Secrets.
func (f *folder) createStaged(name string) (*os.File, error) {
	mode := os.FileMode(0o666)
	if name == LogFile {
		mode = 0o600
	}
	return os.OpenFile(filepath.Join(f.staging, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
}

// writeFile writes and publishes a file.
func (f *folder) writeFile(name string, content func(io.Writer) error) error {
	file, err := f.createStaged(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, fileerror.WithoutPath(err))
	}
	out := bufio.NewWriter(file)
	if err := errors.Join(content(out), out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.publishFile(name)
}

// publishFile moves a complete file into place.
func (f *folder) publishFile(name string) error {
	// Programs that index or scan files open one that was just written.
	err := inuse.Retry(func() error { return os.Rename(filepath.Join(f.staging, name), filepath.Join(f.path, name)) })
	if err != nil {
		return fmt.Errorf("%s: %w", name, fileerror.WithoutPath(err))
	}
	return nil
}

// close removes the staging folder.
func (f *folder) close() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close()
	}
	return errors.Join(err, removeAll(f.staging))
}

func removeAll(path string) error { return inuse.Retry(func() error { return os.RemoveAll(path) }) }
