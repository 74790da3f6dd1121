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
	"k8s.io/client-go/util/retry"

	"github.com/ctrlplane/ctrlplane/control"
)

// randomWorkloads creates and changes workloads in a namespace at random.
type randomWorkloads struct {
	ns      string
	random  *rand.Rand
	created int
	live    []randomWorkload
}

// randomWorkload is a workload that can be changed and deleted.
type randomWorkload struct {
	change func(*testing.T)
	remove func(*testing.T)
}

// addWorkload creates a workload.
func (s *randomWorkloads) addWorkload(t *testing.T) {
	t.Helper()
	s.created++
	name := fmt.Sprintf("w%d", s.created)
	kinds := []func(*testing.T, string) randomWorkload{s.addDeployment, s.addDeployment, s.addJob, s.addJob, s.addStatefulSet, s.addDaemonSet, s.addService, s.addPod, s.addConfigMap}
	s.live = append(s.live, kinds[s.random.IntN(len(kinds))](t, name))
}

// changeWorkload changes or deletes a workload.
func (s *randomWorkloads) changeWorkload(t *testing.T) {
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

// randomDuration returns a duration as annotations of Pods have it.
func (s *randomWorkloads) randomDuration(most time.Duration) string {
	return time.Duration(s.random.Int64N(int64(most))).Round(time.Millisecond).String()
}

func (s *randomWorkloads) labels(name string) map[string]string {
	return map[string]string{"app": name}
}

// podTemplate returns the template of Pods that may be slow to get ready or to stop.
func (s *randomWorkloads) podTemplate(name string) corev1.PodTemplateSpec {
	p := podTemplate(s.labels(name))
	p.Annotations = map[string]string{"ctrlplane.local/stop-after": s.randomDuration(300 * time.Millisecond)}
	if s.random.IntN(2) == 0 {
		p.Annotations["ctrlplane.local/ready-after"] = s.randomDuration(400 * time.Millisecond)
	}
	return p
}

// failUnlessNotFound fails the test for any other error: the workload may have been
// garbage collected.
func failUnlessNotFound(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// updateIfExists is updateObject for an object that controllers often write, and that
// a controller may have deleted: a Pod that it has adopted may be one too many.
func updateIfExists[T any](t *testing.T, c updater[T], name string, change func(T)) {
	t.Helper()
	failUnlessNotFound(t, retry.RetryOnConflict(conflictBackoff, func() error {
		obj, err := c.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(obj)
		_, err = c.Update(t.Context(), obj, metav1.UpdateOptions{})
		return err
	}))
}

func newDeleteFunc[T deleter](s T, name string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		failUnlessNotFound(t, s.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	}
}

func (s *randomWorkloads) addDeployment(t *testing.T, name string) randomWorkload {
	d := newDeployment("registry.invalid/app:1")
	d.Name, d.Spec.Replicas = name, new(int32(s.random.IntN(4)))
	d.Spec.Selector, d.Spec.Template = labelSelector(s.labels(name)), s.podTemplate(name)
	createObject(t, deployments(s.ns), d)
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, deployments(s.ns), name, func(d *appsv1.Deployment) {
			if s.random.IntN(2) == 0 {
				d.Spec.Replicas = new(int32(s.random.IntN(5)))
			} else {
				d.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("registry.invalid/app:%d", s.random.IntN(5))
			}
		})
	}, newDeleteFunc(deployments(s.ns), name)}
}

func (s *randomWorkloads) addJob(t *testing.T, name string) randomWorkload {
	jobs := controlPlane.client.BatchV1().Jobs(s.ns)
	j := newJob(name, batchv1.JobSpec{
		Completions: new(int32(1 + s.random.IntN(3))), Parallelism: new(int32(1 + s.random.IntN(2))), BackoffLimit: new(int32(0)),
	})
	j.Spec.Template.Annotations = map[string]string{"ctrlplane.local/run-for": s.randomDuration(500 * time.Millisecond)}
	if s.random.IntN(3) == 0 {
		j.Spec.Template.Annotations["ctrlplane.local/exit-code"] = "1"
	}
	createObject(t, jobs, j)
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, jobs, name, func(j *batchv1.Job) { j.Spec.Suspend = new(s.random.IntN(2) == 0) })
	}, newDeleteFunc(jobs, name)}
}

func (s *randomWorkloads) addStatefulSet(t *testing.T, name string) randomWorkload {
	sets := controlPlane.client.AppsV1().StatefulSets(s.ns)
	set := newStatefulSet()
	set.Name, set.Spec.Replicas = name, new(int32(s.random.IntN(3)))
	set.Spec.Selector, set.Spec.Template, set.Spec.VolumeClaimTemplates = labelSelector(s.labels(name)), s.podTemplate(name), nil
	createObject(t, sets, set)
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, sets, name, func(set *appsv1.StatefulSet) { set.Spec.Replicas = new(int32(s.random.IntN(4))) })
	}, newDeleteFunc(sets, name)}
}

func (s *randomWorkloads) addDaemonSet(t *testing.T, name string) randomWorkload {
	sets := controlPlane.client.AppsV1().DaemonSets(s.ns)
	createObject(t, sets, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: labelSelector(s.labels(name)), Template: s.podTemplate(name)},
	})
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, sets, name, func(set *appsv1.DaemonSet) {
			set.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("registry.invalid/app:%d", s.random.IntN(5))
		})
	}, newDeleteFunc(sets, name)}
}

func (s *randomWorkloads) addService(t *testing.T, name string) randomWorkload {
	services := controlPlane.client.CoreV1().Services(s.ns)
	of := fmt.Sprintf("w%d", 1+s.random.IntN(s.created))
	createObject(t, services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: s.labels(of), Ports: []corev1.ServicePort{{Port: 80}}},
	})
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, services, name, func(v *corev1.Service) { v.Spec.Selector = s.labels(fmt.Sprintf("w%d", 1+s.random.IntN(s.created))) })
	}, newDeleteFunc(services, name)}
}

func (s *randomWorkloads) addPod(t *testing.T, name string) randomWorkload {
	p := s.podTemplate(name)
	createObject(t, pods(s.ns), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec})
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, pods(s.ns), name, func(p *corev1.Pod) { p.Labels["app"] = fmt.Sprintf("w%d", 1+s.random.IntN(s.created)) })
	}, newDeleteFunc(pods(s.ns), name)}
}

func (s *randomWorkloads) addConfigMap(t *testing.T, name string) randomWorkload {
	maps := controlPlane.client.CoreV1().ConfigMaps(s.ns)
	createObject(t, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return randomWorkload{func(t *testing.T) {
		updateIfExists(t, maps, name, func(c *corev1.ConfigMap) { c.Data = map[string]string{"at": s.randomDuration(time.Hour)} })
	}, newDeleteFunc(maps, name)}
}

// randomIntervention is an intervention in a controller during one round.
type randomIntervention struct {
	action        string // empty = none
	controller    string
	interventions control.Interventions
	fault         control.Fault
	delay         time.Duration
	duration      time.Duration // until it is undone; 0 = the whole round
	removedAt     time.Time     // when undoing it began
}

func newRandomIntervention(random *rand.Rand, interventions control.Interventions) *randomIntervention {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	h := &randomIntervention{
		action:        pick("", "pause", "pause", "stop", "delay", "delay", "fail", "fail"),
		controller:    pick("deployment", "replicaset", "job", "statefulset", "endpointslice", "garbagecollector", "scheduler", "namespace", "daemonset"),
		interventions: interventions,
		delay:         time.Duration(20+random.IntN(150)) * time.Millisecond,
		fault:         control.Fault{Rate: 0.2 + 0.5*random.Float64(), Code: pick("409", "500", "timeout")},
	}
	if random.IntN(2) == 0 {
		h.duration = time.Duration(random.IntN(1500)) * time.Millisecond
	}
	return h
}

func (h *randomIntervention) String() string {
	switch h.action {
	case "":
		return "no intervention"
	case "fail":
		return fmt.Sprintf("fail %s at rate %.2f with %s for %v", h.controller, h.fault.Rate, h.fault.Code, h.duration)
	case "delay":
		return fmt.Sprintf("delay %s by %v for %v", h.controller, h.delay, h.duration)
	}
	return fmt.Sprintf("%s %s for %v", h.action, h.controller, h.duration)
}

func (h *randomIntervention) apply(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	switch h.action {
	case "pause":
		mustSucceed(t)(h.interventions.Pause(ctx, []string{h.controller}))
	case "stop":
		mustSucceed(t)(h.interventions.Stop(ctx, []string{h.controller}))
	case "delay":
		mustSucceed(t)(h.interventions.Delay(ctx, []string{h.controller}, h.delay))
	case "fail":
		mustSucceed(t)(h.interventions.Fail(ctx, []string{h.controller}, h.fault))
	}
}

// scheduleRemoval undoes the intervention after its duration, if it has one. The
// channel is closed when that is done.
func (h *randomIntervention) scheduleRemoval(t *testing.T) <-chan struct{} {
	lifted := make(chan struct{})
	if h.duration == 0 {
		close(lifted)
		return lifted
	}
	ctx := t.Context()
	time.AfterFunc(h.duration, func() {
		defer close(lifted)
		h.removedAt = time.Now()
		if _, err := h.undo(ctx); err != nil {
			t.Error(err)
		}
	})
	return lifted
}

// undo removes the intervention. A second call changes nothing.
func (h *randomIntervention) undo(ctx context.Context) ([]string, error) {
	switch h.action {
	case "pause":
		return h.interventions.Resume(ctx, []string{h.controller})
	case "stop":
		return h.interventions.Start(ctx, []string{h.controller})
	case "delay", "fail":
		return h.interventions.Clear(ctx, []string{h.controller})
	}
	return nil, nil
}

// settleTimeout is how long to wait for the control plane to settle meanwhile.
func (h *randomIntervention) settleTimeout() time.Duration {
	switch {
	case h.action == "" || h.duration > 0:
		return waitTimeout
	case h.action == "pause": // held writes stay held
		return 2 * time.Second
	}
	return 10 * time.Second
}
