package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// lines returns one line per object: "KIND NAMESPACE/NAME: PROGRAM, …".
func (n *NotRun) lines() (lines []string) {
	list, _ := n.List()
	for _, o := range list {
		lines = append(lines, fmt.Sprintf("%s %s/%s: %s", o.Kind, o.Namespace, o.Name, strings.Join(o.Programs, ", ")))
	}
	return lines
}

func TestNotRun(t *testing.T) {
	const runs = "Running, ready, a: runs"
	httpGet := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
	exec := func(command ...string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
	}
	mounted := func(source corev1.VolumeSource, command ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = command
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
		}
	}
	scripts := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}, DefaultMode: new(int32(0o755)),
	}}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "scripts", Namespace: "n"}, Data: map[string]string{"run.sh": "#!/bin/sh\nsleep 1h"},
	})
	container := func(change func(*corev1.Container)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { change(&p.Spec.Containers[0]) }
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		until  string // the status, if not runs
		want   string // without the Pod
	}{
		"a command that runs":                   {container(func(c *corev1.Container) { c.Command = []string{"sleep", "1h"} }), "", ""},
		"an unknown command":                    {container(func(c *corev1.Container) { c.Command, c.Args = []string{"rake"}, []string{"db:migrate"} }), "", "rake db:migrate"},
		"an image":                              {nil, "", "image nginx"},
		"arguments of an image":                 {container(func(c *corev1.Container) { c.Args = []string{"--verbose"} }), "", "image nginx"},
		"the image pause":                       {container(func(c *corev1.Container) { c.Image = "registry.k8s.io/pause:3.10" }), "", ""},
		"a script of an annotation":             {func(p *corev1.Pod) { p.Annotations[annotations.Run] = "sleep 1h" }, "", ""},
		"an end of an annotation":               {func(p *corev1.Pod) { p.Annotations[annotations.RunFor] = "1h" }, "", "image nginx"},
		"an inline script that needs a program": {container(func(c *corev1.Container) { c.Command = []string{"sh", "-c", "set -e; rake db:migrate"} }), "", "sh -c set -e; rake db:migrate"},
		"a script in a volume":                  {mounted(scripts, "/v/run.sh"), "", ""},
		"a program that is missing in a volume": {mounted(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, "/v/app", "-x"), "", "/v/app -x"},
		"an init container": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Command: []string{"/migrate"}}}
			p.Spec.Containers[0].Command = []string{"sleep", "1h"}
		}, "Running, ready, i: exit 0, a: runs", "/migrate"},
		"a container that waits for an init container": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Command: []string{"sleep", "1h"}}}
		}, "Pending, i: runs, a: PodInitializing", ""},
		"probes beside a command that runs": {container(func(c *corev1.Container) {
			c.Command, c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = []string{"sleep", "1h"}, httpGet, exec("/health"), exec("true")
		}), "", "liveness probe, readiness probe"},
		"a probe that is answered": {func(p *corev1.Pod) {
			p.Annotations[annotations.HTTP] = "/ 200"
			p.Spec.Containers[0].Command, p.Spec.Containers[0].ReadinessProbe = []string{"sleep", "1h"}, httpGet
		}, "Running, a: runs", ""}, // it fails: the fixture serves no table
		"probes beside an image": {container(func(c *corev1.Container) { c.ReadinessProbe = httpGet }), "", "image nginx"},
	} {
		t.Run(name, func(t *testing.T) {
			at, changed := commandsFixtureWith(t, client)
			at.commands.notRun = &NotRun{}
			pod, want := testPod(test.change), []string(nil)
			if test.want != "" {
				want = []string{"Pod n/p: " + test.want}
			}
			until := test.until
			if until == "" {
				until = runs
			}
			play(t, pod, at, changed, time.Now, until)
			if diff := cmp.Diff(want, at.commands.notRun.lines()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotRunOfOwners has two Pods of a Deployment, one of a Job, and one that has run before this process.
func TestNotRunOfOwners(t *testing.T) {
	at := testPlacement
	at.commands.notRun = &NotRun{}
	run := func(kind, owner, hash, image string) *corev1.Pod {
		pod := testPod(func(p *corev1.Pod) {
			p.Labels = map[string]string{"pod-template-hash": hash}
			p.Spec.Containers[0].Image = image
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
		})
		timeline(pod, at, 5)
		return pod
	}
	run("ReplicaSet", "web-12", "12", "a")
	run("ReplicaSet", "web-12", "12", "a")
	run("ReplicaSet", "web-34", "34", "b")
	run("ReplicaSet", "bare", "", "c")
	for _, command := range []string{"/v1", "/v2"} { // as after an update, or as workflow operators make them
		timeline(testPod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = []string{command}
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Workflow", Name: "steps", UID: "steps", Controller: new(true)}}
		}), at, 5)
	}
	pod := run("StatefulSet", "db", "", "d")
	want := []string{"Deployment n/web: image a, image b", "ReplicaSet n/bare: image c", "StatefulSet n/db: image d", "Workflow n/steps: /v1, /v2"}
	if diff := cmp.Diff(want, at.commands.notRun.lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	at.commands.notRun = &NotRun{} // of the next process
	podStatus(pod, at, epoch)
	if diff := cmp.Diff(want[2:3], at.commands.notRun.lines()); diff != "" {
		t.Errorf("of a Pod that runs already (-want +got):\n%s", diff)
	}
}

func TestNotRunIsBounded(t *testing.T) {
	var n NotRun
	for i := range maxNotRun + 1 {
		r := containerRun{pod: testPod(func(p *corev1.Pod) { p.UID, p.Name = types.UID(fmt.Sprint(i)), fmt.Sprint(i) })}
		r.container = &r.pod.Spec.Containers[0]
		n.note(&r, false, 0)
		if list, more := n.List(); len(list) != min(i+1, maxNotRun) || more != (i == maxNotRun) {
			t.Fatalf("%d objects after %d, more: %v", len(list), i+1, more)
		}
	}
}

func TestNotRunOfOneObjectIsBounded(t *testing.T) {
	var n NotRun
	for i := range maxNotRunEach + 1 {
		r := containerRun{pod: testPod(func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{fmt.Sprint("/", i)} })}
		r.container = &r.pod.Spec.Containers[0]
		for range 2 { // what is kept already is not more
			n.note(&r, false, 0)
		}
		if list, more := n.List(); len(list[0].Programs) != min(i+1, maxNotRunEach) || more != (i == maxNotRunEach) {
			t.Fatalf("%d programs after %d, more: %v", len(list[0].Programs), i+1, more)
		}
	}
}
