package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RewriteOptions are the options of Rewrite.
type RewriteOptions struct {
	// Mode is that of the file afterwards.
	Mode os.FileMode
	// Like is the existing file, whose owner stays; nil if there is none.
	Like os.FileInfo
	// TempPrefix begins the name of the file until it is complete.
	TempPrefix string
	// Durable says that the content survives a crash of the machine.
	Durable bool
}

// Rewrite replaces a file of the user atomically; if it is a link, the file that it points
// to.
func Rewrite(path string, data []byte, how RewriteOptions) error {
	if how.Like != nil {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		path = resolved
		// Renaming needs no write permission for the file: check it.
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return Replace(path, how.TempPrefix, data, how.Durable, func(f *os.File) error {
		if how.Like != nil {
			if err := chownLike(f, how.Like); err != nil {
				return err
			}
		}
		if how.Mode == 0o600 { // the mode of a new file
			return nil
		}
		return f.Chmod(how.Mode)
	})
}

// checkReplaceable returns an error for what is neither a file nor a link: a device such as
// /dev/null, which root may replace, would be gone.
func checkReplaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != 0 && info.Mode().Type() != fs.ModeSymlink {
		err = &fs.PathError{Op: "replace", Path: path, Err: errors.New("not a regular file")}
	}
	return err
}
