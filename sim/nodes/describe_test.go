package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

func TestDescribeSimulation(t *testing.T) {
	for want, commands := range map[string][]string{
		"": {""},
		"commands run in a simulated shell, without the image and without a network":                                                                                                                                       {"", "true"},
		"container c0 needs nginx, which is not simulated: it keeps running; the annotation ctrlplane.local/run names a script to run instead":                                                                             {"nginx"},
		"commands run in a simulated shell, without the image and without a network; container c1 needs nginx, which is not simulated: it keeps running; the annotation ctrlplane.local/run names a script to run instead": {"true", "nginx"},
		"container c0 needs /opt/tool, which is not simulated: it keeps running; the annotation ctrlplane.local/run names a script to run instead":                                                                         {"cp /opt/tool /shared"},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.Containers = nil
			for i, command := range commands {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "c" + string(rune('0'+i)), Command: strings.Fields(command)})
			}
		})
		if got := describeSimulation(pod); got != want {
			t.Errorf("%v: got %q, want %q", commands, got, want)
		}
	}
}

// TestDescribeSkippedHandlers names what is skipped in a container in which nothing runs.
func TestDescribeSkippedHandlers(t *testing.T) {
	exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo x > /tmp/x"}}}
	wait := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"cat", "/tmp/x"}}}}
	for name, test := range map[string]struct {
		hooks   *corev1.Lifecycle
		probe   *corev1.Probe
		command string
		want    string
	}{
		"hooks":                 {hooks: &corev1.Lifecycle{PostStart: exec, PreStop: exec}, want: "nothing runs in container a, which skips its postStart hook, preStop hook"},
		"a probe":               {probe: probe, want: "nothing runs in container a, which skips its exec probes"},
		"a preStop of 0 s":      {hooks: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{}}}},
		"a preStop that sleeps": {hooks: &corev1.Lifecycle{PreStop: wait}},
		"a command":             {hooks: &corev1.Lifecycle{PostStart: exec}, probe: probe, command: "true", want: "commands run in a simulated shell, without the image and without a network"},
	} {
		pod := testPod(func(p *corev1.Pod) {
			c := &p.Spec.Containers[0]
			c.Lifecycle, c.LivenessProbe, c.Command = test.hooks, test.probe, strings.Fields(test.command)
		})
		if got, _, _ := strings.Cut(describeSimulation(pod), "; the annotation"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestExplainSimulation says what the containers do in which a program of an image would run.
func TestExplainSimulation(t *testing.T) {
	job := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: new(true)}}
	}
	const instead = " The annotation ctrlplane.local/run of the Pod names a script to run instead."
	for name, test := range map[string]struct {
		change  func(*corev1.Pod)
		command string
		want    string
	}{
		"a command of a Job": {job, "perl -e 1", "Nothing runs in container a, which exits with 0 at once: its command needs perl, which is not simulated." + instead},
		"a command":          {func(*corev1.Pod) {}, "nginx -g x", "Nothing runs in container a, which keeps running: its command needs nginx, which is not simulated." + instead},
		"the image of a Job": {job, "", "Nothing runs in container a, which exits with 0 at once: the program of its image i is not simulated." + instead},
		"an image":           {func(*corev1.Pod) {}, "", ""},
		"a Pending Pod":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, "nginx", "Nothing runs in container a: its command needs nginx, which is not simulated." + instead},
		"a Failed Pod":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "nginx", "Nothing runs in container a: its command needs nginx, which is not simulated." + instead},
		"a known program":    {job, "true", ""},
		"an annotation":      {func(p *corev1.Pod) { job(p); p.Annotations[annotations.ExitCode] = "1" }, "perl", ""},
		"a script instead":   {func(p *corev1.Pod) { job(p); p.Annotations[annotations.Run] = "exit 1" }, "perl", ""},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			test.change(p)
			p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = "i", strings.Fields(test.command)
		})
		if got := ExplainSimulation(pod); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestDescribeSimulatedProbes says in the same event which probes are not made.
func TestDescribeSimulatedProbes(t *testing.T) {
	http := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
	exec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	for name, c := range map[string]struct {
		command string
		probe   *corev1.Probe
		table   string
		want    bool
	}{
		"httpGet":              {"true", http, "", true},
		"httpGet with a table": {"true", http, "/ 200", false},
		"exec":                 {"true", exec, "", false},
		"no command":           {"", http, "", true},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command, p.Spec.Containers[0].ReadinessProbe = strings.Fields(c.command), c.probe
			if c.table != "" {
				p.Annotations[annotations.HTTP] = c.table
			}
		})
		if got := describeSimulation(pod); strings.Contains(got, "succeed without a request") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestDescribePodsOfAController has one event for the Pods without a command of a ReplicaSet, as they do not differ.
func TestDescribePodsOfAController(t *testing.T) {
	for name, test := range map[string]struct {
		owners  []types.UID // of the Pods, one after another
		command []string
		changed bool // the last Pod has another container
		later   time.Duration
		want    int
	}{
		"a ReplicaSet":           {owners: []types.UID{"rs", "rs", "rs"}, want: 1},
		"two ReplicaSets":        {owners: []types.UID{"a", "b", "a"}, want: 2},
		"no controller":          {owners: []types.UID{"", ""}, want: 2},
		"a command":              {owners: []types.UID{"rs", "rs"}, command: []string{"nginx"}, want: 2},
		"before its event ends":  {owners: []types.UID{"rs", "rs", "rs"}, later: 29 * time.Minute, want: 1},
		"after its event":        {owners: []types.UID{"rs", "rs", "rs"}, later: time.Hour, want: 3},
		"another template of it": {owners: []types.UID{"rs", "rs", "rs"}, changed: true, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			registry := newTestRegistry(t, testNode(nil))
			registry.commands = &container.Runtime{}
			now := registry.now()
			registry.now = func() time.Time { return now }
			events := 0
			for i, owner := range test.owners {
				now = now.Add(test.later)
				pod := testPod(func(p *corev1.Pod) {
					p.UID, p.Name = types.UID(fmt.Sprint(i)), fmt.Sprint(i)
					if owner != "" {
						p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: owner, Controller: new(true)}}
					}
					c := &p.Spec.Containers[0]
					c.Command = test.command
					c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
					if test.changed && i == len(test.owners)-1 {
						c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
					}
				})
				if registry.updatePod(pod, false, nil).simulated != "" {
					events++
				}
			}
			if events != test.want {
				t.Errorf("got %d events, want %d", events, test.want)
			}
		})
	}
}
