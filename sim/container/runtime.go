package container

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// Config configures a Runtime while it is active.
type Config struct {
	// Client reads the objects that Pods refer to.
	Client kubernetes.Interface
	// Allocatable returns the allocatable resources of a node.
	Allocatable func(node string) corev1.ResourceList
	// OnChange is called when a run of a Pod has another state. It must not block.
	OnChange func(namespace, name string, uid types.UID)
	// RecordEvent creates an event about a container of a Pod, or about the Pod if
	// container is empty. It must not block.
	RecordEvent func(pod *corev1.Pod, container, eventType, reason, message string)
}

// Runtime runs the containers of all simulated nodes between Start and Stop. It can be
// started again. Other methods may be called at any time: without a Start, no
// container exists.
type Runtime struct {
	// HTTP is what Pods answer to HTTP requests.
	HTTP podhttp.Directory

	mu      sync.RWMutex
	session *session // nil unless the Runtime is active
}

// Start makes the runtime active.
func (r *Runtime) Start(cfg Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = newSession(cfg, &r.HTTP)
}

// Stop kills all containers, removes them and returns when they have ended.
func (r *Runtime) Stop() {
	r.mu.Lock()
	s := r.session
	r.session = nil
	r.mu.Unlock()
	r.HTTP.Close()
	if s != nil {
		s.close()
	}
}

func (r *Runtime) active() *session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.session
}

// Spec says what a run is.
type Spec struct {
	Pod       *corev1.Pod // with its addresses in its status
	Container *corev1.Container
	Number    int32
	// Args is the command; none means that the run stands for what the image starts.
	Args []string
	// CommandOf returns the command of a container of the Pod, as Args is that of this one; nil = no other has one.
	CommandOf func(*corev1.Container) []string
	Sidecar   bool
	// Serves means that a run without a command ends only if a probe or its postStart hook fails.
	Serves bool
	// StopDelay is how long a run without a command takes to end when its Pod stops.
	StopDelay time.Duration
}

// Run starts a run unless it has been started, and returns its state. It does not
// block. Call it again with the newest Pod while the run is blocked.
func (r *Runtime) Run(spec Spec) State {
	s := r.active()
	if s == nil {
		return State{}
	}
	return s.run(spec)
}

// State returns the state of a run; false if it is not known.
func (r *Runtime) State(uid types.UID, container string, number int32) (State, bool) {
	s := r.active()
	if s == nil {
		return State{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.find(uid, container, number); run != nil {
		return run.state, true
	}
	return State{}, false
}

// Log returns the output of a run; nil if it has no command or is not known.
func (r *Runtime) Log(uid types.UID, container string, number int32) *Log {
	s := r.active()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.find(uid, container, number); run != nil && run.state.Command {
		return &run.log
	}
	return nil
}

// Update passes the newest state of a Pod to its volumes.
func (r *Runtime) Update(pod *corev1.Pod) {
	if s := r.active(); s != nil {
		s.update(pod)
	}
}

// Replace stops a run of a container, so that the next can start. It does not wait: the
// state of the run tells when it has ended.
func (r *Runtime) Replace(pod *corev1.Pod, container string, number int32, why Replacement) {
	if s := r.active(); s != nil {
		s.replace(pod, container, number, why)
	}
}

// StopPod stops the containers of a Pod, those that still run at the deadline by force, but
// not before they had some time for SIGTERM. A later call can only bring the deadline
// forward. It does not wait; it returns the deadline that holds, or zero if all have ended.
func (r *Runtime) StopPod(pod *corev1.Pod, deadline time.Time) (holds time.Time) {
	s := r.active()
	if s == nil {
		return time.Time{}
	}
	return s.stopPod(pod, deadline)
}

// Runs reports whether a command of a Pod is running.
func (r *Runtime) Runs(uid types.UID) bool {
	s := r.active()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[uid]
	return p != nil && p.runs()
}

// KillContainers kills the commands of the containers of a Pod that have these names, and returns the number of the last run
// of each that has begun, by name. They can run again.
func (r *Runtime) KillContainers(uid types.UID, names []string) (ended map[string]int32) {
	s := r.active()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[uid]
	if p == nil {
		return nil
	}
	ended = map[string]int32{}
	for _, c := range p.containers {
		if !slices.Contains(names, c.name) {
			continue
		}
		s.killCurrent(c)
		if c.current.state.Phase != Blocked {
			ended[c.name] = c.current.number
		}
	}
	return ended
}

// Remove kills and removes the containers of a Pod, and its volumes.
func (r *Runtime) Remove(uid types.UID) {
	if s := r.active(); s != nil {
		s.remove(uid)
	}
}

// RemoveNode drops what the folders of a node hold. Pods that run keep theirs.
func (r *Runtime) RemoveNode(name string) {
	if s := r.active(); s != nil {
		s.forgetNode(name)
	}
}

// session is a Runtime while it is active.
type session struct {
	cfg    Config
	http   *podhttp.Directory
	client kubernetes.Interface
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	objects

	mu      sync.Mutex
	pods    map[types.UID]*pod
	kept    keptLogs
	failing map[*run]FailingProbe
}

func newSession(cfg Config, http *podhttp.Directory) *session {
	s := &session{cfg: cfg, http: http, client: cfg.Client, pods: map[types.UID]*pod{}, failing: map[*run]FailingProbe{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.objects.init(s)
	return s
}

func (s *session) close() {
	s.cancel()
	s.mu.Lock()
	for _, p := range s.pods {
		s.kill(p)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// pod is what the runtime keeps of a Pod.
type pod struct {
	namespace, name string
	uid             types.UID
	containers      []*container
	volumes         *volumes    // nil until a container needs its files
	mounted         bool        // its volumes have been mounted once
	tokens          keptTokens  // in them
	renewal         renewal     // of the tokens
	newest          *corev1.Pod // while it has volumes or blocked runs
	stopping        bool
	killTimer       *time.Timer
	killAt          time.Time
}

// runs reports whether a command is running, or a hook is to delay the end of the Pod. It needs the lock.
func (p *pod) runs() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool {
		r := c.current
		return r.state.Phase != Ended && (r.state.Command || r.delaysStop())
	})
}

// container is what the runtime keeps of a container.
type container struct {
	name              string
	current, previous *run
}

// kill ends all commands of a Pod. It needs the lock.
func (s *session) kill(p *pod) {
	if p.killTimer != nil {
		p.killTimer.Stop()
	}
	p.renewal.close()
	for _, c := range p.containers {
		s.killCurrent(c)
	}
}

// killCurrent ends the newest run of a container by force. It needs the lock.
func (s *session) killCurrent(c *container) {
	r := c.current
	r.cancel()
	if r.timer != nil && r.timer.Stop() { // nothing else ends a run that sleeps
		s.wg.Go(func() { s.end(r, nil, int32(exitSIGKILL), "", "") })
	}
}

// find returns a run; nil if it is not known. It needs the lock.
func (s *session) find(uid types.UID, name string, number int32) *run {
	p := s.pods[uid]
	if p == nil {
		return nil
	}
	for _, c := range p.containers {
		if c.name != name {
			continue
		}
		if c.current.number == number {
			return c.current
		}
		if c.previous != nil && c.previous.number == number {
			return c.previous
		}
	}
	return nil
}

// add adds a run. It needs the lock.
func (s *session) add(of *corev1.Pod, r *run) {
	p := s.pods[of.UID]
	if p == nil {
		p = &pod{namespace: of.Namespace, name: of.Name, uid: of.UID}
		s.pods[of.UID] = p
		s.use(p.namespace)
	}
	r.pod = p
	for _, c := range p.containers {
		if c.name == r.name {
			c.previous, c.current = c.current, r
			return
		}
	}
	p.containers = append(p.containers, &container{name: r.name, current: r})
}

func (s *session) changed(p *pod) {
	s.cfg.OnChange(p.namespace, p.name, p.uid)
}

func (s *session) update(of *corev1.Pod) {
	s.mu.Lock()
	p := s.pods[of.UID]
	if p == nil || p.newest == nil {
		s.mu.Unlock()
		return
	}
	was := p.newest
	of = withAddresses(of, was)
	p.newest = of
	v := p.volumes
	s.mu.Unlock()
	if v != nil && !sameDownwardFields(was, of) {
		s.wg.Go(func() { s.refresh(p) })
	}
}

// withAddresses returns a Pod with the addresses of an earlier state: it reports none before its volumes are
// mounted, and its containers are to know them.
func withAddresses(of, was *corev1.Pod) *corev1.Pod {
	if of.Status.PodIP != "" || was.Status.PodIP == "" {
		return of
	}
	copied := *of
	copied.Status.PodIP, copied.Status.PodIPs = was.Status.PodIP, was.Status.PodIPs
	return &copied
}

func (s *session) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[uid]
	if p == nil {
		return
	}
	s.kill(p)
	s.keepLogs(p)
	delete(s.pods, uid)
	s.forget(p)
	s.release(p.namespace)
}
