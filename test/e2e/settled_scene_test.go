package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/ctrlplane/ctrlplane/control"
)

// scene is a namespace in which workloads are made and changed at random.
type scene struct {
	ns     string
	random *rand.Rand
	made   int
	live   []thing
}

// thing is a workload that can be changed and deleted.
type thing struct {
	change func(*testing.T)
	remove func(*testing.T)
}

// begin makes a workload.
func (s *scene) begin(t *testing.T) {
	t.Helper()
	s.made++
	name := fmt.Sprintf("w%d", s.made)
	kinds := []func(*testing.T, string) thing{s.deployment, s.deployment, s.job, s.job, s.statefulSet, s.daemonSet, s.service, s.pod, s.configMap}
	s.live = append(s.live, kinds[s.random.IntN(len(kinds))](t, name))
}

// change changes a workload, or deletes it.
func (s *scene) change(t *testing.T) {
	t.Helper()
	i := s.random.IntN(len(s.live))
	if s.random.IntN(3) == 0 {
		s.live[i].remove(t)
		s.live[i] = s.live[len(s.live)-1]
		s.live = s.live[:len(s.live)-1]
		return
	}
	s.live[i].change(t)
}

// upTo is a time at random, as annotations of Pods have it.
func (s *scene) upTo(most time.Duration) string {
	return time.Duration(s.random.Int64N(int64(most))).Round(time.Millisecond).String()
}

func (s *scene) labels(name string) map[string]string { return map[string]string{"app": name} }

// template is of Pods that may take a while to get ready or to stop.
func (s *scene) template(name string) corev1.PodTemplateSpec {
	p := template(s.labels(name))
	p.Annotations = map[string]string{"ctrlplane/stop-after": s.upTo(300 * time.Millisecond)}
	if s.random.IntN(2) == 0 {
		p.Annotations["ctrlplane/ready-after"] = s.upTo(400 * time.Millisecond)
	}
	return p
}

// gone is what a change of a thing may meet whose namespace's garbage is collected.
func gone(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// alter is modify of a thing that others write all the time, and that may be gone:
// a Pod that a controller has adopted is one too many.
func alter[T any](t *testing.T, c updater[T], name string, change func(T)) {
	t.Helper()
	often := wait.Backoff{Duration: 5 * time.Millisecond, Factor: 1.5, Jitter: 0.5, Steps: 15}
	gone(t, retry.RetryOnConflict(often, func() error {
		obj, err := c.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(obj)
		_, err = c.Update(t.Context(), obj, metav1.UpdateOptions{})
		return err
	}))
}

func removal[T deleter](s T, name string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		gone(t, s.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	}
}

func (s *scene) deployment(t *testing.T, name string) thing {
	d := newDeployment("registry.invalid/app:1")
	d.Name, d.Spec.Replicas = name, new(int32(s.random.IntN(4)))
	d.Spec.Selector, d.Spec.Template = selecting(s.labels(name)), s.template(name)
	create(t, deployments(s.ns), d)
	return thing{func(t *testing.T) {
		alter(t, deployments(s.ns), name, func(d *appsv1.Deployment) {
			if s.random.IntN(2) == 0 {
				d.Spec.Replicas = new(int32(s.random.IntN(5)))
			} else {
				d.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("registry.invalid/app:%d", s.random.IntN(5))
			}
		})
	}, removal(deployments(s.ns), name)}
}

func (s *scene) job(t *testing.T, name string) thing {
	jobs := plane.client.BatchV1().Jobs(s.ns)
	j := newJob(name, batchv1.JobSpec{
		Completions: new(int32(1 + s.random.IntN(3))), Parallelism: new(int32(1 + s.random.IntN(2))), BackoffLimit: new(int32(0)),
	})
	j.Spec.Template.Annotations = map[string]string{"ctrlplane/run-for": s.upTo(500 * time.Millisecond)}
	if s.random.IntN(3) == 0 {
		j.Spec.Template.Annotations["ctrlplane/exit-code"] = "1"
	}
	create(t, jobs, j)
	return thing{func(t *testing.T) {
		alter(t, jobs, name, func(j *batchv1.Job) { j.Spec.Suspend = new(s.random.IntN(2) == 0) })
	}, removal(jobs, name)}
}

func (s *scene) statefulSet(t *testing.T, name string) thing {
	sets := plane.client.AppsV1().StatefulSets(s.ns)
	set := newStatefulSet()
	set.Name, set.Spec.Replicas = name, new(int32(s.random.IntN(3)))
	set.Spec.Selector, set.Spec.Template, set.Spec.VolumeClaimTemplates = selecting(s.labels(name)), s.template(name), nil
	create(t, sets, set)
	return thing{func(t *testing.T) {
		alter(t, sets, name, func(set *appsv1.StatefulSet) { set.Spec.Replicas = new(int32(s.random.IntN(4))) })
	}, removal(sets, name)}
}

func (s *scene) daemonSet(t *testing.T, name string) thing {
	sets := plane.client.AppsV1().DaemonSets(s.ns)
	create(t, sets, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: selecting(s.labels(name)), Template: s.template(name)},
	})
	return thing{func(t *testing.T) {
		alter(t, sets, name, func(set *appsv1.DaemonSet) {
			set.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("registry.invalid/app:%d", s.random.IntN(5))
		})
	}, removal(sets, name)}
}

func (s *scene) service(t *testing.T, name string) thing {
	services := plane.client.CoreV1().Services(s.ns)
	of := fmt.Sprintf("w%d", 1+s.random.IntN(s.made))
	create(t, services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: s.labels(of), Ports: []corev1.ServicePort{{Port: 80}}},
	})
	return thing{func(t *testing.T) {
		alter(t, services, name, func(v *corev1.Service) { v.Spec.Selector = s.labels(fmt.Sprintf("w%d", 1+s.random.IntN(s.made))) })
	}, removal(services, name)}
}

func (s *scene) pod(t *testing.T, name string) thing {
	p := s.template(name)
	create(t, pods(s.ns), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec})
	return thing{func(t *testing.T) {
		alter(t, pods(s.ns), name, func(p *corev1.Pod) { p.Labels["app"] = fmt.Sprintf("w%d", 1+s.random.IntN(s.made)) })
	}, removal(pods(s.ns), name)}
}

func (s *scene) configMap(t *testing.T, name string) thing {
	maps := plane.client.CoreV1().ConfigMaps(s.ns)
	create(t, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return thing{func(t *testing.T) {
		alter(t, maps, name, func(c *corev1.ConfigMap) { c.Data = map[string]string{"at": s.upTo(time.Hour)} })
	}, removal(maps, name)}
}

// handicap is a hand on a controller during a round.
type handicap struct {
	what  string // empty = none
	of    string
	gates control.Gates
	fault control.Fault
	delay time.Duration
	after time.Duration // until it is taken back; 0 = at the end of the round
	taken time.Time     // when that began
}

func newHandicap(random *rand.Rand, gates control.Gates) *handicap {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	h := &handicap{
		what:  pick("", "pause", "pause", "stop", "delay", "delay", "fail", "fail"),
		of:    pick("deployment", "replicaset", "job", "statefulset", "endpointslice", "garbagecollector", "scheduler", "namespace", "daemonset"),
		gates: gates,
		delay: time.Duration(20+random.IntN(150)) * time.Millisecond,
		fault: control.Fault{Rate: 0.2 + 0.5*random.Float64(), Code: pick("409", "500", "timeout")},
	}
	if random.IntN(2) == 0 {
		h.after = time.Duration(random.IntN(1500)) * time.Millisecond
	}
	return h
}

func (h *handicap) String() string {
	switch h.what {
	case "":
		return "all as it should be"
	case "fail":
		return fmt.Sprintf("fail %s at rate %.2f with %s for %v", h.of, h.fault.Rate, h.fault.Code, h.after)
	case "delay":
		return fmt.Sprintf("delay %s by %v for %v", h.of, h.delay, h.after)
	}
	return fmt.Sprintf("%s %s for %v", h.what, h.of, h.after)
}

func (h *handicap) set(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	switch h.what {
	case "pause":
		do(t)(h.gates.Pause(ctx, h.of))
	case "stop":
		do(t)(h.gates.Stop(ctx, h.of))
	case "delay":
		do(t)(h.gates.Delay(ctx, h.of, h.delay))
	case "fail":
		do(t)(h.gates.Fail(ctx, h.of, h.fault))
	}
}

// lift takes the hand back after a while, if it is to. The channel is closed when
// that has been done.
func (h *handicap) lift(t *testing.T) <-chan struct{} {
	lifted := make(chan struct{})
	if h.after == 0 {
		close(lifted)
		return lifted
	}
	ctx := t.Context()
	time.AfterFunc(h.after, func() {
		defer close(lifted)
		h.taken = time.Now()
		if _, err := h.end(ctx); err != nil {
			t.Error(err)
		}
	})
	return lifted
}

// end takes the hand back. Doing so twice is doing it once.
func (h *handicap) end(ctx context.Context) ([]string, error) {
	switch h.what {
	case "pause":
		return h.gates.Resume(ctx, h.of)
	case "stop":
		return h.gates.Start(ctx, h.of)
	case "delay", "fail":
		return h.gates.Restore(ctx, h.of)
	}
	return nil, nil
}

// patience is how long to wait while it is there.
func (h *handicap) patience() time.Duration {
	switch {
	case h.what == "" || h.after > 0:
		return time.Minute
	case h.what == "pause": // what is held stays held
		return 2 * time.Second
	}
	return 10 * time.Second
}
