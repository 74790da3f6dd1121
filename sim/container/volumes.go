package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// maxVolumeBytes is how much a volume holds without a size limit of its own.
const maxVolumeBytes = 64 << 20

// volumes are the volumes of a Pod, each made when a container mounts it.
type volumes struct {
	mu   sync.Mutex
	dirs map[string]*volume
	size int // of the files from the API
}

// volume is a Dir, or a folder or file in that of a node.
type volume struct {
	*shell.Dir
	path string                       // without a leading slash; empty for all of the Dir
	host *corev1.HostPathVolumeSource // nil if it is not of a node
}

// openVolumes returns the volumes of a Pod, which it makes at the first call. A Pod that has
// stopped has none, and makes none. It needs the lock of the session.
func (p *pod) openVolumes() (*volumes, error) {
	if p.stopping && !p.runs() {
		return nil, errors.New("the pod has stopped")
	}
	if p.volumes == nil {
		p.volumes = &volumes{dirs: map[string]*volume{}}
	}
	return p.volumes, nil
}

// mountVolumes returns why the volumes of a Pod cannot be mounted for a run. As on a real node, those that were
// mounted once stay so when their objects change: the first run with a command makes also what only the commands of
// later containers mount. A run without a command makes none: what something else of it uses later has the last state of
// deleted objects.
func (s *session) mountVolumes(r *run, of *corev1.Pod, c *corev1.Container) error {
	s.mu.Lock()
	mounted := r.pod.mounted
	s.mu.Unlock()
	if !mounted {
		if err := s.checkVolumes(r.ctx, of); err != nil {
			return err
		}
	}
	if mayExecute(c, r.args) {
		if err := s.makeVolumes(r, of, c); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.pod.mounted, r.state.Mounted = true, true
	return nil
}

// checkVolumes returns why the volumes of a Pod cannot be mounted. It makes none. As with a kubelet, those that no
// container mounts do not matter.
func (s *session) checkVolumes(ctx context.Context, of *corev1.Pod) error {
	mounted, _, _ := volumeutil.GetPodVolumeNames(of, false)
	for i := range of.Spec.Volumes {
		v := &of.Spec.Volumes[i]
		if !mounted.Has(v.Name) || !needsObjects(of, v) {
			continue
		}
		if _, err := podconfig.VolumeFiles(ctx, of, withoutTokens(v), s); err != nil {
			return mountError{v.Name, err}
		}
	}
	return nil
}

// makeVolumes makes the volumes of a Pod that a container mounts, and those with objects that other commands mount.
func (s *session) makeVolumes(r *run, of *corev1.Pod, c *corev1.Container) error {
	s.mu.Lock()
	v, err := r.pod.openVolumes()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range of.Spec.Volumes {
		volume := &of.Spec.Volumes[i]
		if !isMountedBy(c, volume) && (!needsObjects(of, volume) || !r.isMountedByCommand(of, volume)) {
			continue
		}
		if _, err := s.dir(r.ctx, of, r.pod, v, volume.Name); err != nil {
			return err
		}
	}
	return nil
}

// needsObjects reports whether a volume needs objects that may not exist.
func needsObjects(of *corev1.Pod, v *corev1.Volume) bool {
	for range podconfig.VolumeReferences(of, v) {
		return true
	}
	return podconfig.HasTrustBundle(v)
}

func isMountedBy(c *corev1.Container, v *corev1.Volume) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
}

// isMountedByCommand reports whether a container mounts a volume that has a command that may run: others do not
// read it.
func (r *run) isMountedByCommand(of *corev1.Pod, v *corev1.Volume) bool {
	return r.command != nil && slices.ContainsFunc(slices.Concat(of.Spec.InitContainers, of.Spec.Containers), func(c corev1.Container) bool {
		return isMountedBy(&c, v) && mayExecute(&c, r.command(&c))
	})
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
func (s *session) dir(ctx context.Context, of *corev1.Pod, p *pod, v *volumes, name string) (*volume, error) {
	i := slices.IndexFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("cannot find volume %q", name)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	dir, err := v.dirs[name], error(nil)
	switch {
	case dir == nil:
		dir, err = s.makeVolume(ctx, of, &of.Spec.Volumes[i], p, v)
	case dir.host != nil: // another Pod may have removed it
		dir, err = s.hostDir(of.Spec.NodeName, dir.host)
	}
	if err != nil {
		return nil, mountError{name, err}
	}
	v.dirs[name] = dir
	return dir, nil
}

// makeVolume returns a volume that the Pod has not used before.
func (s *session) makeVolume(ctx context.Context, of *corev1.Pod, v *corev1.Volume, p *pod, all *volumes) (*volume, error) {
	switch {
	case v.PersistentVolumeClaim != nil, v.Ephemeral != nil:
		claim, err := s.claimOf(ctx, of, v)
		if err != nil {
			return nil, err
		}
		return s.claim(ctx, of.Spec.NodeName, claim)
	case v.HostPath != nil:
		return s.hostDir(of.Spec.NodeName, v.HostPath)
	}
	dir, err := s.makePodVolume(ctx, of, v, p, all)
	if err != nil {
		return nil, err
	}
	return &volume{Dir: dir}, nil
}

// makePodVolume returns a volume that only the Pod has.
func (s *session) makePodVolume(ctx context.Context, of *corev1.Pod, v *corev1.Volume, p *pod, all *volumes) (*shell.Dir, error) {
	switch {
	case podconfig.IsServiceAccount(v):
		return s.serviceAccountVolume(ctx, of, v, p, all)
	case podconfig.HasFiles(v):
		for on := range podconfig.VolumeReferences(of, v) {
			if err := s.depend(ctx, of.UID, on); err != nil {
				return nil, err
			}
		}
		files, renewAt, err := p.volumeFiles(ctx, of, v, s.volumeSource(p))
		if err != nil {
			return nil, err
		}
		if err := all.take(files); err != nil {
			return nil, err
		}
		s.renewTokens(p, renewAt)
		dir := shell.NewDir(0)
		if err := setGroup(dir, fsGroup(of)); err != nil {
			return nil, err
		}
		return dir, writeFiles(dir, files, fsGroup(of))
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
	return dir, setGroup(dir, fsGroup(of))
}

// setGroup makes a group, if it is not negative, the owner of a volume and of what is created in it, as upstream's
// volume.VolumeOwnership does for folders of the host.
func setGroup(dir *shell.Dir, group int) error {
	if group < 0 {
		return nil
	}
	if err := dir.Chown("/", 0, group); err != nil {
		return err
	}
	return dir.Chmod("/", fs.ModePerm|fs.ModeSetgid)
}

// volumeSource returns what a volume of a Pod is made from when it is first used: on a real node it was mounted when
// the Pod started.
func (s *session) volumeSource(p *pod) podconfig.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.mounted {
		return startedSource{&s.objects}
	}
	return s
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
		files, renewAt, err := p.volumeFiles(s.ctx, of, source, s)
		if err == nil {
			s.renewTokens(p, renewAt)
			err = writeFiles(dir.Dir, files, fsGroup(of))
		}
		if err != nil && s.ctx.Err() == nil { // until the retry it keeps its content, as on a real node
			s.retryRefresh(p)
			s.cfg.RecordEvent(of, "", corev1.EventTypeWarning, "FailedMount", mountError{source.Name, err}.Error())
		}
	}
}

// sameDownwardFields reports whether a Pod has the same fields that may change while
// it has a downward API volume.
func sameDownwardFields(a, b *corev1.Pod) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, sameResources) &&
		slices.EqualFunc(a.Spec.InitContainers, b.Spec.InitContainers, sameResources)
}

func sameResources(a, b corev1.Container) bool {
	return apiequality.Semantic.DeepEqual(a.Resources, b.Resources)
}
