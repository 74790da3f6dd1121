package shell

import (
	"io/fs"
	"path"
	"time"
)

// A Dir is a tree of files in memory: a volume, or the root of an [FS]. It is
// safe for concurrent use and can be mounted into several containers at once.
// Paths are relative to its root, with or without a leading slash.
type Dir struct{ limit int64 }

// NewDir returns an empty Dir that holds at most limit bytes, names and
// metadata included; 0 = no limit.
func NewDir(limit int64) *Dir { return &Dir{limit: limit} }

// MountOptions say how a Dir is mounted.
type MountOptions struct {
	ReadOnly bool
	// SubPath is the file or directory of the Dir that is mounted; "" = its
	// root. It is resolved once, as container runtimes do.
	SubPath string
}

// FS is the file system of a container: a copy-on-write image that all
// containers share, and what is mounted into it. It is safe for concurrent use.
type FS struct{ root *Dir }

// NewFS returns a file system whose own files hold at most limit bytes; 0 = no
// limit. Mounted Dirs have limits of their own.
func NewFS(limit int64) *FS { return &FS{root: NewDir(limit)} }

// Mount mounts a Dir at an absolute path, which is created if it is missing.
// Mounts are made before commands run; a later mount at the same path replaces it.
func (f *FS) Mount(name string, d *Dir, opt MountOptions) error { return nil }

// Root returns the Dir with the container's own files.
func (f *FS) Root() *Dir { return f.root }

// Files is what [Dir] and [FS] have in common, for root. Errors are
// [*fs.PathError] with an errno of package syscall.
type Files interface {
	// WriteFile replaces the content of a file, which gets perm if it is new.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	ReadFile(name string) ([]byte, error)
	MkdirAll(name string, perm fs.FileMode) error
	// Remove removes a file, a link or an empty directory.
	Remove(name string) error
	RemoveAll(name string) error
	// Rename replaces newName.
	Rename(oldName, newName string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Chmod(name string, mode fs.FileMode) error
	Chown(name string, uid, gid int) error
	Chtimes(name string, mtime time.Time) error
}

var _ = path.Clean
