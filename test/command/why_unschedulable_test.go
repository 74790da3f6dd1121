package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestWhyUnschedulable compares what is said of Pods that fit no node with what upstream's scheduler says of them.
func TestWhyUnschedulable(t *testing.T) {
	t.Parallel()
	p := program.Up(t, t.TempDir(), "--nodes", "2")
	const port = `containers: [{name: c, image: c, ports: [{containerPort: 80, hostPort: 8080}]}]`
	cases := map[string]struct{ spec, want string }{
		"selector": {`nodeSelector: {disk: ssd}`, "didn't match Pod's node affinity/selector; no node has the label disk=ssd (spec.nodeSelector)"},
		"size":     {`containers: [{name: c, image: c, resources: {requests: {memory: 100Ti}}}]`, "2 Insufficient memory; it requests memory 100Ti, and no node has more than "},
		"gpu":      {`containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "1"}, limits: {example.com/gpu: "1"}}}]`, "2 Insufficient example.com/gpu; no node has the resource example.com/gpu"},
		"apart": {`affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, labelSelector: {matchLabels: {app: held}}}]}}`,
			"didn't match pod anti-affinity rules; it must not share the kubernetes.io/os of the Pods with app=held"},
		"together": {`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/os, labelSelector: {matchLabels: {app: none}}}]}}`,
			"didn't match pod affinity rules; it must share the kubernetes.io/os of one of the Pods with app=none"},
		"spread": {`topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]`,
			"; no node has the label rack, which its topologySpreadConstraints require"},
		"port": {port, "; other Pods have its hostPort 8080/TCP on 2 nodes"},
	}
	var manifest strings.Builder
	manifest.WriteString(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: held}, spec: {selector: {matchLabels: {app: held}}, template: {metadata: {labels: {app: held}}, spec: {` + port + `}}}}` + "\n")
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "held.yaml"), manifest.String())
	program.MustRun(t, p.Dir, "kubectl", "apply", "-f", file)
	program.MustRun(t, p.Dir, "wait", "daemonset/held") // it has taken the port of each node
	manifest.Reset()
	for name, tc := range cases {
		spec := tc.spec
		if !strings.Contains(spec, "containers:") {
			spec += ", containers: [{name: c, image: c}]"
		}
		manifest.WriteString("---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec + "}}\n")
	}
	program.MustRun(t, p.Dir, "kubectl", "apply", "-f", testutil.WriteFile(t, filepath.Join(t.TempDir(), "pods.yaml"), manifest.String()))
	for name, tc := range cases {
		var said string
		p.Await(t, "saying of Pod "+name+": "+tc.want, func() bool {
			said = strings.Join(strings.Fields(program.MustRun(t, p.Dir, "why", "pod/"+name)), " ")
			return strings.Contains(said, tc.want)
		})
		if strings.Contains(said, "preemption: ") {
			t.Errorf("of Pod %s it is said that preemption does not help:\n%s", name, said)
		}
	}
}
