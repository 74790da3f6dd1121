package container

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// The names of a volume with files from the API, as upstream's AtomicWriter has them.
// The AtomicWriter itself writes to the host.
const (
	dataLink    = "..data"
	newDataLink = "..data_tmp"
)

// writeFiles makes files the content of a volume, at once for those who read it: the
// visible names are links into a directory that is replaced as a whole.
func writeFiles(dir *shell.Dir, files podconfig.Files, group int) error {
	old, _ := dir.Readlink(dataLink) // fails if the volume is new
	if old != "" && sameFiles(dir, old, files) {
		return nil
	}
	current := ".." + time.Now().UTC().Format("2006_01_02_15_04_05.000000000")
	visible := map[string]bool{}
	if err := dir.MkdirAll(current, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(dir, path.Join(current, name), files[name], group); err != nil {
			return err
		}
		first, _, _ := strings.Cut(path.Clean(name), "/")
		visible[first] = true
	}
	if err := dir.Symlink(current, newDataLink); err != nil {
		return err
	}
	if err := dir.Rename(newDataLink, dataLink); err != nil {
		return err
	}
	entries, err := dir.ReadDir("/")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); visible[name] {
			delete(visible, name)
		} else if !strings.HasPrefix(name, "..") && entry.Type()&fs.ModeSymlink != 0 { // not a mount point
			if err := dir.Remove(name); err != nil {
				return err
			}
		}
	}
	for name := range visible {
		if err := dir.Symlink(path.Join(dataLink, name), name); err != nil {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return dir.RemoveAll(old)
}

func writeFile(dir *shell.Dir, name string, file volumeutil.FileProjection, group int) error {
	if err := dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode, user := fs.FileMode(file.Mode), 0
	if group >= 0 {
		mode |= 0o440
	}
	if file.FsUser != nil {
		user = int(*file.FsUser)
	}
	if err := dir.WriteFile(name, file.Data, mode); err != nil {
		return err
	}
	if err := dir.Chmod(name, mode); err != nil || group < 0 && user == 0 {
		return err
	}
	return dir.Chown(name, user, max(group, 0))
}

func sameFiles(dir *shell.Dir, folder string, files podconfig.Files) bool {
	for name, file := range files {
		if data, err := dir.ReadFile(path.Join(folder, name)); err != nil || string(data) != string(file.Data) {
			return false
		}
	}
	return countFiles(dir, folder) == len(files)
}

func countFiles(dir *shell.Dir, folder string) (n int) {
	entries, err := dir.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if entry.IsDir() {
			n += countFiles(dir, path.Join(folder, entry.Name()))
		} else {
			n++
		}
	}
	return n
}
