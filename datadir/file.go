package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// newFilePrefix begins the name of a file that is being written.
const newFilePrefix = ".new-"

// writeFile replaces a file at once, with mode 0600. With durable it survives
// a crash of the machine from then on.
func writeFile(path string, data []byte, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), newFilePrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = fileutil.Fsync(f)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what went wrong first is what matters
		return err
	}
	if durable {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

func syncDir(path string) error {
	dir, err := fileutil.OpenDir(path)
	if err != nil {
		return err
	}
	err = fileutil.Fsync(dir)
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	return err
}

// explain makes the one line that a person needs from an error of the file
// system, met while doing something with a data folder.
func explain(path, doing string, err error) error {
	const choose = "or choose another --data-dir"
	switch {
	case diskFull(err):
		return fmt.Errorf("data folder %s: the disk is full (%w): make room, %s", path, err, choose)
	case errors.Is(err, fs.ErrPermission) || readOnly(err):
		return fmt.Errorf("data folder %s cannot be used (%w): make it yours and writable, %s", path, err, choose)
	}
	return fmt.Errorf("data folder %s: cannot %s (%w): look into that, %s", path, doing, err, choose)
}
