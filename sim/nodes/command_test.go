package nodes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestCommandOf(t *testing.T) {
	words := func(s string) []string { return strings.Split(s, "|") }
	for name, test := range map[string]struct {
		change func(*corev1.Pod, *corev1.Container)
		run    int32
		want   string
	}{
		"none":                    {change: func(*corev1.Pod, *corev1.Container) {}},
		"command and args":        {change: func(_ *corev1.Pod, c *corev1.Container) { c.Command, c.Args = words("sh|-c"), words("exit 1") }, want: "sh|-c|exit 1"},
		"unknown command":         {change: func(_ *corev1.Pod, c *corev1.Container) { c.Command = words("nginx|-g") }, want: "nginx|-g"},
		"args that are a program": {change: func(_ *corev1.Pod, c *corev1.Container) { c.Args = words("sleep|1") }, want: "sleep|1"},
		"args of an entry point":  {change: func(_ *corev1.Pod, c *corev1.Container) { c.Args = words("--verbose") }},
		"standard input":          {change: func(_ *corev1.Pod, c *corev1.Container) { c.Stdin = true }, want: "sh"},
		"script":                  {change: func(p *corev1.Pod, _ *corev1.Container) { p.Annotations[annotations.Run] = "exit 2" }, want: "sh|-c|exit 2"},
		"script of the container": {change: func(p *corev1.Pod, _ *corev1.Container) { p.Annotations[annotations.Run+".a"] = "exit 2" }, want: "sh|-c|exit 2"},
		"script of another":       {change: func(p *corev1.Pod, _ *corev1.Container) { p.Annotations[annotations.Run+".b"] = "exit 2" }},
		"run-for": {change: func(p *corev1.Pod, c *corev1.Container) {
			c.Command, p.Annotations[annotations.RunFor] = words("true"), "5s"
		}},
		"exit-code": {change: func(p *corev1.Pod, c *corev1.Container) {
			c.Command, p.Annotations[annotations.ExitCode] = words("true"), "5"
		}},
		"exit-code of another": {change: func(p *corev1.Pod, c *corev1.Container) {
			c.Command, p.Annotations[annotations.ExitCode] = words("true"), "b=5"
		}, want: "true"},
		"a run that may not fail":   {change: failsOnce, run: 0},
		"a run after the last that": {change: failsOnce, run: 1, want: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod(func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "b"}}
				test.change(p, &p.Spec.Containers[0])
			})
			behavior, err := podBehaviorOf(pod)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(behavior.commandOf(&pod.Spec.Containers[0], mainContainer, test.run), "|")
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func failsOnce(p *corev1.Pod, c *corev1.Container) {
	c.Command = []string{"true"}
	p.Annotations[annotations.ExitCode], p.Annotations[annotations.Failures] = "1", "1"
}

// TestFailedInitContainerCondition compares with upstream's
// status.GeneratePodInitializedCondition.
func TestFailedInitContainerCondition(t *testing.T) {
	pod := testPod(func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
		p.Annotations[annotations.ExitCode] = "i=1"
	})
	timeline(pod, testPlacement, 5)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodInitialized && (c.Status != corev1.ConditionFalse || c.Reason != "ContainersNotInitialized" || c.Message != "containers with incomplete status: [i]") {
			t.Errorf("got %+v", c)
		}
	}
	if pod.Status.Phase != corev1.PodFailed {
		t.Errorf("phase %s", pod.Status.Phase)
	}
}
