package container

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// hostPath is a folder or a file of a simulated node.
type hostPath struct{ node, path string }

// hostFile is the name of a file of a node in its Dir.
const hostFile = "file"

// isHostFile reports whether a volume is a file of the node.
func isHostFile(v *corev1.Volume) bool {
	if v.HostPath == nil {
		return false
	}
	kind := ptr.Deref(v.HostPath.Type, corev1.HostPathUnset)
	return kind == corev1.HostPathFile || kind == corev1.HostPathFileOrCreate
}

// hostSubPath returns what is mounted of a volume: a file of the node has a Dir of its own.
func hostSubPath(of *corev1.Pod, name, subPath string) string {
	i := slices.IndexFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if subPath == "" && i >= 0 && isHostFile(&of.Spec.Volumes[i]) {
		return hostFile
	}
	return subPath
}

// hostDir returns a folder of a node, which is empty at first, or a Dir with a file of it.
func (o *objects) hostDir(node string, v *corev1.Volume) (*shell.Dir, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := hostPath{node, path.Clean(v.HostPath.Path)}
	dir := o.hostPaths[at]
	if dir == nil {
		dir = shell.NewDir(maxVolumeBytes)
		o.hostPaths[at] = dir
	}
	if !isHostFile(v) {
		return dir, nil
	}
	if _, err := dir.Stat(hostFile); err == nil {
		return dir, nil
	}
	content := ""
	if at.path == "/etc/hosts" {
		content = "127.0.0.1\tlocalhost\n"
	}
	return dir, dir.WriteFile(hostFile, []byte(content), 0o644)
}
