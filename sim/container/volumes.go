package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// maxVolumeBytes is how much a volume holds without a size limit of its own.
const maxVolumeBytes = 64 << 20

// volumes are the volumes of a Pod, each made when a container mounts it.
type volumes struct {
	mu   sync.Mutex
	dirs map[string]*shell.Dir
	size int // of the files from the API
}

// openVolumes returns the volumes of a Pod, which it makes at the first call. A Pod that has
// stopped has none, and makes none. It needs the lock of the session.
func (p *pod) openVolumes() (*volumes, error) {
	if p.stopping && !p.runs() {
		return nil, errors.New("the pod has stopped")
	}
	if p.volumes == nil {
		p.volumes = &volumes{dirs: map[string]*shell.Dir{}}
	}
	return p.volumes, nil
}

// mountError is why a volume cannot be mounted, in the kubelet's words.
type mountError struct {
	volume string
	err    error
}

func (e mountError) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.volume, e.err)
}

func (e mountError) Unwrap() error { return e.err }

// checkVolumes returns why the volumes of a Pod cannot be mounted. It makes none.
func (s *session) checkVolumes(ctx context.Context, of *corev1.Pod) error {
	for i := range of.Spec.Volumes {
		v := &of.Spec.Volumes[i]
		needed := podconfig.HasTrustBundle(v)
		for range podconfig.VolumeReferences(of, v) {
			needed = true
		}
		if !needed {
			continue
		}
		if _, err := podconfig.VolumeFiles(ctx, of, withoutTokens(v), s); err != nil {
			return mountError{v.Name, err}
		}
	}
	return nil
}

// withoutTokens returns a volume without the sources that always exist.
func withoutTokens(v *corev1.Volume) *corev1.Volume {
	if v.Projected == nil {
		return v
	}
	copied := v.DeepCopy()
	copied.Projected.Sources = slices.DeleteFunc(copied.Projected.Sources, func(p corev1.VolumeProjection) bool {
		return p.ServiceAccountToken != nil
	})
	return copied
}

// dir returns the files of a volume.
func (s *session) dir(ctx context.Context, of *corev1.Pod, p *pod, v *volumes, name string) (*shell.Dir, error) {
	i := slices.IndexFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("cannot find volume %q", name)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if dir := v.dirs[name]; dir != nil {
		return dir, nil
	}
	dir, err := s.makeVolume(ctx, of, &of.Spec.Volumes[i], p, v)
	if err != nil {
		return nil, mountError{name, err}
	}
	v.dirs[name] = dir
	return dir, nil
}

func (s *session) makeVolume(ctx context.Context, of *corev1.Pod, v *corev1.Volume, p *pod, all *volumes) (*shell.Dir, error) {
	switch {
	case podconfig.IsServiceAccount(v):
		return s.serviceAccountVolume(ctx, of, v, p, all)
	case podconfig.HasFiles(v):
		for on := range podconfig.VolumeReferences(of, v) {
			if err := s.depend(ctx, of.UID, on); err != nil {
				return nil, err
			}
		}
		files, err := podconfig.VolumeFiles(ctx, of, v, s)
		if err != nil {
			return nil, err
		}
		if err := all.take(files); err != nil {
			return nil, err
		}
		s.renewTokens(p, v)
		dir := shell.NewDir(0)
		return dir, writeFiles(dir, files, fsGroup(of))
	case v.PersistentVolumeClaim != nil, v.Ephemeral != nil:
		claim, err := s.claimOf(ctx, of, v)
		if err != nil {
			return nil, err
		}
		return s.claim(ctx, claim)
	case v.HostPath != nil:
		return s.hostDir(of.Spec.NodeName, v)
	}
	limit := int64(maxVolumeBytes)
	if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
		limit = min(limit, max(v.EmptyDir.SizeLimit.Value(), 1))
	}
	dir := shell.NewDir(limit)
	if v.EmptyDir == nil {
		return dir, nil // what is outside of the cluster is empty
	}
	if err := dir.Chmod("/", fs.ModePerm); err != nil {
		return nil, err
	}
	if group := fsGroup(of); group >= 0 {
		return dir, dir.Chown("/", 0, group)
	}
	return dir, nil
}

// take reserves the memory of files from the API. It needs the lock.
func (v *volumes) take(files podconfig.Files) error {
	size := 0
	for _, file := range files {
		size += len(file.Data)
	}
	if v.size+size > podconfig.MaxVolumeBytes {
		return fmt.Errorf("the volumes of the pod hold more than %d bytes in all, which is not simulated", podconfig.MaxVolumeBytes)
	}
	v.size += size
	return nil
}

// fsGroup returns the group that owns the volumes of a Pod; negative if none does.
func fsGroup(of *corev1.Pod) int {
	if c := of.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		return int(*c.FSGroup)
	}
	return -1
}

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

// refresh writes the current content of the volumes of a Pod that come from the API.
func (s *session) refresh(p *pod) {
	s.mu.Lock()
	of, v := p.newest, p.volumes
	s.mu.Unlock()
	if of == nil || v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range of.Spec.Volumes {
		source := &of.Spec.Volumes[i]
		dir := v.dirs[source.Name]
		if dir == nil || !podconfig.HasFiles(source) || !dir.Filled() {
			continue
		}
		files, err := podconfig.VolumeFiles(s.ctx, of, source, s)
		if err == nil {
			s.renewTokens(p, source)
			err = writeFiles(dir, files, fsGroup(of))
		}
		if err != nil && s.ctx.Err() == nil { // it keeps its content, as on a real node
			s.cfg.RecordEvent(of, "", corev1.EventTypeWarning, "FailedMount", mountError{source.Name, err}.Error())
		}
	}
}

// sameDownwardFields reports whether a Pod has the same fields that may change while
// it has a downward API volume.
func sameDownwardFields(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// mount mounts the volumes of a container.
func (s *session) mount(ctx context.Context, of *corev1.Pod, p *pod, v *volumes, c *corev1.Container, env []kubecontainer.EnvVar, files *shell.FS) error {
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		subPath, err := subPathOf(m, env)
		if err != nil {
			return err
		}
		dir, err := s.dir(ctx, of, p, v, m.Name)
		if err != nil {
			return err
		}
		subPath = hostSubPath(of, m.Name, subPath)
		options := shell.MountOptions{ReadOnly: m.ReadOnly || isReadOnly(of, m.Name), SubPath: subPath}
		if subPath != "" {
			if err := makeSubPath(dir, subPath); err != nil {
				return fmt.Errorf("failed to create subPath directory for volumeMount %q of container %q", m.Name, c.Name)
			}
		} else if err := makeNestedMountPoints(dir, m, c); err != nil {
			return fmt.Errorf("failed to mount volume %q of container %q: %w", m.Name, c.Name, err)
		}
		if err := files.Mount(path.Join("/", m.MountPath), dir, options); err != nil {
			return fmt.Errorf("failed to mount volume %q of container %q: %w", m.Name, c.Name, err)
		}
	}
	return nil
}

// isReadOnly reports whether no container can write to a volume.
func isReadOnly(of *corev1.Pod, name string) bool {
	return slices.ContainsFunc(of.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == name && (podconfig.HasFiles(&v) || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly)
	})
}

// makeNestedMountPoints makes the folders of a volume that other mounts of the container
// cover: it may be read-only for the container. The kubelet's function writes to the host.
func makeNestedMountPoints(dir *shell.Dir, m *corev1.VolumeMount, c *corev1.Container) error {
	within := strings.TrimSuffix(path.Clean(m.MountPath), "/") + "/"
	for _, other := range c.VolumeMounts {
		if name, nested := strings.CutPrefix(path.Clean(other.MountPath), within); nested && name != "" {
			if err := dir.MkdirAll(name, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSubPath makes a folder of what is missing, also in place of a missing key, as the
// kubelet does.
func makeSubPath(dir *shell.Dir, name string) error {
	if _, err := dir.Stat(name); err == nil {
		return nil
	}
	if err := dir.MkdirAll(name, fs.ModePerm); err != nil {
		return err
	}
	return dir.Chmod(name, fs.ModePerm)
}

// subPathOf returns the part of a volume that is mounted. Its errors are those of the
// kubelet.
func subPathOf(m *corev1.VolumeMount, env []kubecontainer.EnvVar) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		if _, err := podconfig.ExpandCommand([]string{m.SubPathExpr}, env); err != nil {
			return "", fmt.Errorf("subPathExpr: %w", err)
		}
		var err error
		if sub, err = kubecontainer.ExpandContainerVolumeMounts(*m, env); err != nil {
			return "", err
		}
	}
	if path.IsAbs(sub) {
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", sub)
	}
	if err := volumevalidation.ValidatePathNoBacksteps(sub); err != nil {
		return "", fmt.Errorf("unable to provision SubPath `%s`: %w", sub, err)
	}
	return sub, nil
}
