package container

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// hostDir returns the files of a node, and a path in them, which it makes if it is missing: an empty
// folder or file.
func (o *objects) hostDir(node string, v *corev1.HostPathVolumeSource) (dir *shell.Dir, within string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dir, within = o.hosts[node], path.Clean("/" + v.Path)[1:]
	if dir == nil {
		dir = shell.NewDir(maxVolumeBytes)
		o.hosts[node] = dir
	}
	if _, err := dir.Stat(within); err == nil {
		return dir, within, nil
	}
	kind := ptr.Deref(v.Type, corev1.HostPathUnset)
	if kind != corev1.HostPathFile && kind != corev1.HostPathFileOrCreate {
		return dir, within, dir.MkdirAll(within, 0o777)
	}
	content := ""
	if within == "etc/hosts" {
		content = "127.0.0.1\tlocalhost\n"
	}
	if err := dir.MkdirAll(path.Dir(within), 0o777); err != nil {
		return nil, "", err
	}
	return dir, within, dir.WriteFile(within, []byte(content), 0o644)
}
