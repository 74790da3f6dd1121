package container

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// hostDir returns a path of a node, which it makes if it is missing: an empty folder or file.
func (o *objects) hostDir(node string, v *corev1.HostPathVolumeSource) (*volume, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dir := o.hosts[node]
	if dir == nil {
		dir = shell.NewDir(maxVolumeBytes)
		o.hosts[node] = dir
	}
	at := &volume{dir, path.Clean("/" + v.Path)[1:], v}
	if _, err := dir.Stat(at.path); err == nil {
		return at, nil
	}
	return at, at.makeHostPath()
}

// makeHostPath makes a path of a node.
func (v *volume) makeHostPath() error {
	kind := ptr.Deref(v.host.Type, corev1.HostPathUnset)
	if kind != corev1.HostPathFile && kind != corev1.HostPathFileOrCreate {
		return v.MkdirAll(v.path, 0o777)
	}
	content := ""
	if v.path == "etc/hosts" {
		content = "127.0.0.1\tlocalhost\n"
	}
	if err := v.MkdirAll(path.Dir(v.path), 0o777); err != nil {
		return err
	}
	return v.WriteFile(v.path, []byte(content), 0o644)
}
