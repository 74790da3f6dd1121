package snapshot

import (
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// WriteFile replaces a file at once, with mode 0600. With durable it survives a
// crash of the machine from then on.
func WriteFile(path string, data []byte, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
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

// RemoveFile removes a file for good.
func RemoveFile(path string, durable bool) error {
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
