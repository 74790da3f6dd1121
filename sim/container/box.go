package container

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// maxRootBytes is how much a container may write besides its volumes.
const maxRootBytes = 32 << 20

// box is what the processes of a run share: files, environment and users.
type box struct {
	env       []kubecontainer.EnvVar
	files     *shell.FS
	processes *shell.Processes
	hostname  string
	dir       string
	user      int
	group     int
	groups    []int
	network   podNetwork
}

// openBox returns the box of a run, which it makes at the first call.
func (s *session) openBox(r *run, of *corev1.Pod, c *corev1.Container) (*box, error) {
	s.mu.Lock()
	if r.box != nil {
		defer s.mu.Unlock()
		return r.box, nil
	}
	v, err := r.pod.openVolumes()
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	if r.pod.newest == nil && slices.ContainsFunc(of.Spec.Volumes, func(v corev1.Volume) bool { return podconfig.HasFiles(&v) }) {
		r.pod.newest = of
	}
	from := podconfig.Source(s)
	if r.state.Phase == Running {
		from = startedSource{&s.objects}
	}
	s.mu.Unlock()
	b, err := s.makeBox(r, v, of, c, from)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.box == nil {
		r.box = b
		s.setInit(r)
	}
	return r.box, nil
}

// setInit makes a run that does not run in the shell the first process of its container.
// It needs the lock.
func (s *session) setInit(r *run) {
	if r.state.Command && r.timer == nil || r.state.Phase != Running {
		return
	}
	name := strings.Join(r.args, " ")
	if !r.state.Command {
		name = "(simulated)"
	}
	r.box.processes.SetInit(name, r.box.user, func(sig syscall.Signal) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ctx.Err() == nil {
			s.wg.Go(func() { s.endBySignal(r, sig) })
		}
	})
}

// endBySignal ends a run that does not run in the shell.
func (s *session) endBySignal(r *run, sig syscall.Signal) {
	s.mu.Lock()
	r.state.Probed = !r.state.Command // its end counts, although it has no command
	if r.timer != nil {
		r.timer.Stop()
	}
	s.mu.Unlock()
	s.end(r, nil, 128+int32(sig), "", "")
}

// makeBox makes the box of a run, with the environment that a source has.
func (s *session) makeBox(r *run, v *volumes, of *corev1.Pod, c *corev1.Container, from podconfig.Source) (*box, error) {
	env, err := podconfig.Environment(r.ctx, of, c, from)
	if err != nil {
		return nil, err
	}
	b := &box{env: env, files: shell.NewFS(maxRootBytes), processes: shell.NewProcesses(), dir: c.WorkingDir}
	b.setUser(of.Spec.SecurityContext, c.SecurityContext)
	if b.hostname, err = podconfig.KernelHostname(of); err != nil {
		return nil, err
	}
	b.network = podNetwork{s, of}
	if err := s.writeSystemFiles(b, of); err != nil {
		return nil, err
	}
	if err := s.mount(r.ctx, of, r.pod, v, c, env, b.files); err != nil {
		return nil, err
	}
	if err := b.mountMessage(c.TerminationMessagePath); err != nil {
		return nil, fmt.Errorf("create the termination message file: %w", err)
	}
	return b, b.seal(c)
}

// mountMessage mounts an empty file for the termination message, as the kubelet does: also where the image has no such
// folder, and within a volume.
func (b *box) mountMessage(name string) error {
	if name == "" {
		return nil
	}
	const file = "message"
	message := shell.NewDir(maxRootBytes)
	if err := message.WriteFile(file, nil, 0o666); err != nil {
		return err
	}
	if err := message.Chmod(file, 0o666); err != nil {
		return err
	}
	return b.files.Mount(name, message, shell.MountOptions{SubPath: file})
}

// seal makes the files of a container read-only if it asks for that, except for its mounts.
func (b *box) seal(c *corev1.Container) error {
	if c.SecurityContext == nil || !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		return nil
	}
	if err := b.files.MkdirAll(path.Join("/", c.WorkingDir), 0o755); err != nil {
		return err
	}
	b.files.Seal()
	return nil
}

func (b *box) setUser(pod *corev1.PodSecurityContext, c *corev1.SecurityContext) {
	set := func(to *int, id *int64) {
		if id != nil {
			*to = int(*id)
		}
	}
	if pod != nil {
		set(&b.user, pod.RunAsUser)
		set(&b.group, pod.RunAsGroup)
		for _, g := range pod.SupplementalGroups {
			b.groups = append(b.groups, int(g))
		}
		if pod.FSGroup != nil {
			b.groups = append(b.groups, int(*pod.FSGroup))
		}
	}
	if c != nil {
		set(&b.user, c.RunAsUser)
		set(&b.group, c.RunAsGroup)
	}
}

// writeSystemFiles writes the files that a kubelet and a container runtime provide.
func (s *session) writeSystemFiles(b *box, of *corev1.Pod) error {
	dns := ""
	if err := s.feeds.services.await(s.ctx, s.s); err != nil {
		return err
	}
	if service := s.services.get("kube-system", "kube-dns"); service != nil {
		dns = service.Spec.ClusterIP
	}
	if err := writeSysctls(b.files, of); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"/etc/hosts":       podconfig.HostsFile(of),
		"/etc/hostname":    []byte(b.hostname + "\n"),
		"/etc/resolv.conf": podconfig.ResolvConf(of, dns),
	} {
		if err := b.files.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeSysctls writes the kernel parameters that a Pod sets.
func writeSysctls(files *shell.FS, of *corev1.Pod) error {
	if of.Spec.SecurityContext == nil {
		return nil
	}
	for _, sysctl := range of.Spec.SecurityContext.Sysctls {
		name := path.Join("/proc/sys", strings.ReplaceAll(sysctl.Name, ".", "/"))
		if err := files.MkdirAll(path.Dir(name), 0o555); err != nil {
			return err
		}
		if err := files.WriteFile(name, []byte(sysctl.Value+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// expand replaces the variables in a command of the container's spec.
func (b *box) expand(args []string) ([]string, error) {
	return podconfig.ExpandCommand(args, b.env)
}

// config returns the configuration of a process.
func (b *box) config(args []string) shell.Config {
	env := make([]string, 0, len(b.env))
	for _, v := range b.env {
		env = append(env, v.Name+"="+v.Value)
	}
	return shell.Config{
		Args: args, Env: env, Dir: b.dir, FS: b.files, Hostname: b.hostname, Processes: b.processes,
		User: b.user, Group: b.group, Groups: b.groups, Lookup: b.network.lookup, Get: b.network.get, Connect: b.network.connect, Answers: b.network.answers,
	}
}
