package nodes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func TestExplainLog(t *testing.T) {
	const nothing, instead = "This is a simulated container, and nothing runs in it: ", " To run a shell script instead, set the annotation ctrlplane.local/run of its Pod; to set only its output, ctrlplane.local/log."
	command := func(words ...string) func(*corev1.Pod, *corev1.Container) {
		return func(_ *corev1.Pod, c *corev1.Container) { c.Command = words }
	}
	for name, test := range map[string]struct {
		change    func(*corev1.Pod, *corev1.Container)
		container string
		want      string
	}{
		"no command":           {command(), "a", nothing + "the program of its image nginx is not simulated." + instead},
		"arguments only":       {func(_ *corev1.Pod, c *corev1.Container) { c.Args = []string{"--verbose"} }, "a", nothing + "the program of its image nginx is not simulated." + instead},
		"an unknown program":   {command("python3", "app.py"), "a", nothing + "its command needs python3, which is not simulated." + instead},
		"some in a script":     {command("sh", "-c", "npm ci && node ."), "a", nothing + "its command needs npm, node, which are not simulated." + instead},
		"another container":    {command("sleep", "1"), "b", nothing + "its command needs java, which is not simulated." + strings.ReplaceAll(instead, "/run ", "/run.b ")},
		"annotations":          {func(p *corev1.Pod, c *corev1.Container) { p.Annotations[annotations.ExitCode] = "1" }, "a", nothing + "annotations of its Pod say how it ends. To give it output, set the annotation ctrlplane.local/log."},
		"a command that ended": {command("true"), "a", "The output of this run is no longer known: it is kept in memory, for the last two runs of a container, until the control plane stops."},
	} {
		pod := testPod(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "b", Command: []string{"java"}}}
			test.change(p, &p.Spec.Containers[0])
		})
		if got := ExplainLog(pod, test.container, 0); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}
