package shell

import (
	"io/fs"
	"time"
)

// fileInfo is what stat tells.
type fileInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modTime  time.Time
	uid, gid int
	links    int
	node     *node
	target   string
}

func (n *node) info(name string) fileInfo {
	info := fileInfo{
		name: name, size: int64(len(n.data)), mode: n.mode, modTime: time.Unix(0, n.mtime), uid: int(n.uid), gid: int(n.gid),
		links: max(1, int(n.links)), node: n,
	}
	switch {
	case n.isLink():
		info.size, info.target = int64(len(n.target)), n.target
	case n.isDir():
		info.size, info.links = 4096, 2
	}
	if name == "" {
		info.name = "/"
	}
	return info
}

// Name implements [fs.FileInfo].
func (i fileInfo) Name() string { return i.name }

// Size implements [fs.FileInfo].
func (i fileInfo) Size() int64 { return i.size }

// Mode implements [fs.FileInfo].
func (i fileInfo) Mode() fs.FileMode { return i.mode }

// ModTime implements [fs.FileInfo].
func (i fileInfo) ModTime() time.Time { return i.modTime }

// IsDir implements [fs.FileInfo].
func (i fileInfo) IsDir() bool { return i.mode.IsDir() }

// Sys implements [fs.FileInfo].
func (i fileInfo) Sys() any { return nil }
