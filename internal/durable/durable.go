// Package durable writes and removes files whole.
package durable

import (
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// TempPrefix begins the name of a file that is being written.
const TempPrefix = ".new-"

// Write replaces a file at once, with mode 0600. With durable it survives a
// crash of the machine from then on.
func Write(path string, data []byte, durable bool) error {
	if err := Replace(path, TempPrefix, data, durable, nil); err != nil || !durable {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Replace replaces a file at once by one that prepare, if not nil, has given
// another owner or mode than 0600. The name of the new one begins with prefix while
// it is written. With durable its content survives a crash of the machine, but not
// yet its name.
func Replace(path, prefix string, data []byte, durable bool, prepare func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && prepare != nil {
		err = prepare(f)
	}
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
	}
	return err
}

// Remove removes a file for good.
func Remove(path string, durable bool) error {
	if err := os.Remove(path); err != nil {
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
