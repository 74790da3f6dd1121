package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// mountError is why a volume cannot be mounted, in the kubelet's words.
type mountError struct {
	volume string
	err    error
}

func (e mountError) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.volume, e.err)
}

func (e mountError) Unwrap() error { return e.err }

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
		options := shell.MountOptions{ReadOnly: m.ReadOnly || isReadOnly(of, m.Name), SubPath: path.Join(dir.path, subPath)}
		if subPath != "" {
			if err := dir.Fill(); err != nil {
				return fmt.Errorf("failed to mount volume %q of container %q: %w", m.Name, c.Name, err)
			}
			if err := dir.makeSubPath(options.SubPath); err != nil {
				return fmt.Errorf("failed to create subPath directory for volumeMount %q of container %q", m.Name, c.Name)
			}
			if !dir.contains(options.SubPath) {
				return fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q", m.Name, c.Name)
			}
		} else if err := makeNestedMountPoints(dir, m, c); err != nil {
			return fmt.Errorf("failed to mount volume %q of container %q: %w", m.Name, c.Name, err)
		}
		if err := files.Mount(path.Join("/", m.MountPath), dir.Dir, options); err != nil {
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
func makeNestedMountPoints(dir *volume, m *corev1.VolumeMount, c *corev1.Container) error {
	within := strings.TrimSuffix(path.Clean(m.MountPath), "/") + "/"
	for _, other := range c.VolumeMounts {
		if name, nested := strings.CutPrefix(path.Clean(other.MountPath), within); nested && name != "" {
			if err := dir.MkdirAll(path.Join(dir.path, name), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSubPath makes the folders of a subPath that are missing, with the mode of the volume, as the kubelet's SafeMakeDir
// does. As there, a link to nothing does not fail: it is not within the volume.
func (v *volume) makeSubPath(name string) error {
	if _, err := v.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	missing, exists := name, path.Dir(name)
	for _, err := v.Stat(exists); errors.Is(err, fs.ErrNotExist); _, err = v.Stat(exists) {
		missing, exists = exists, path.Dir(exists)
	}
	if !v.contains(exists) {
		return fmt.Errorf("path %s leads out of the volume", exists)
	}
	if _, err := v.Lstat(missing); err == nil {
		return nil
	}
	info, err := v.Stat(v.path)
	if err != nil {
		return err
	}
	return v.MkdirAll(name, info.Mode())
}

// contains reports whether a path below a volume exists and does not lead out of it through links.
func (v *volume) contains(name string) bool {
	if v.host == nil {
		return v.Contains(name)
	}
	base, err := v.Resolve(v.path)
	if err != nil {
		return false
	}
	if _, err := v.Stat(name); err != nil {
		return false
	}
	resolved, err := v.Resolve(name)
	return err == nil && (resolved == base || strings.HasPrefix(resolved, strings.TrimSuffix(base, "/")+"/"))
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

// isMountError reports whether err is about a volume.
func isMountError(err error) bool {
	_, ok := errors.AsType[mountError](err)
	return ok
}
