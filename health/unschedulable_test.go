package health

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// unschedulablePod returns a Pod for which the scheduler has found no node.
func unschedulablePod(spec, message string) string {
	return `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: ` + spec + `, status: {phase: Pending, conditions: [` +
		`{type: PodScheduled, status: "False", reason: Unschedulable, message: "` + message + `"}]}}`
}

func TestWhyUnschedulable(t *testing.T) {
	const (
		plain = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: hdd, zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {disk: hdd, arch: arm}}, status: {allocatable: {cpu: "2", memory: 16Gi}}}`
		tainted = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: ssd}}, spec: {taints: [{key: only, value: gpu, effect: NoSchedule}]}, status: {allocatable: {cpu: "64"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-1}, spec: {taints: [{key: only, value: gpu, effect: NoSchedule}, {key: x, effect: PreferNoSchedule}]}}`
	)
	for name, tc := range map[string]struct{ nodes, spec, message, want string }{
		"nodeSelector":              {plain, `{nodeSelector: {disk: ssd, arch: arm}}`, "m.", "m; no node has the label disk=ssd (spec.nodeSelector)"},
		"two labels that none has":  {plain, `{nodeSelector: {disk: ssd, arch: amd}}`, "m.", "m; no node has the label arch=amd or disk=ssd (spec.nodeSelector)"},
		"labels of different nodes": {plain, `{nodeSelector: {zone: a, arch: arm}}`, "m.", "m; no node has all of the labels arch=arm and zone=a (spec.nodeSelector)"},
		"node affinity": {plain, `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` +
			`{matchExpressions: [{key: zone, operator: In, values: [b, c]}, {key: gpu, operator: Exists}]}, {matchFields: [{key: metadata.name, operator: In, values: [n7]}]}]}}}}`,
			"m.", "m; no node matches its required node affinity: zone In (b, c) and gpu Exists, or metadata.name In (n7)"},
		"both": {plain, `{nodeSelector: {zone: a}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` +
			`{matchExpressions: [{key: arch, operator: Exists}]}]}}}}`,
			"m.", "m; no node matches its required node affinity: arch Exists, and has zone=a (spec.nodeSelector)"},
		"taint":             {tainted, `{}`, "m.", "m; it does not tolerate the taint only=gpu:NoSchedule of node n1 and of 1 other node"},
		"taint of the only": {tainted, `{nodeSelector: {disk: ssd}}`, "m.", "m; it does not tolerate the taint only=gpu:NoSchedule of node n1"},
		"tolerated":         {tainted, `{tolerations: [{operator: Exists}]}`, "m.", "m."},
		"more than a node":  {plain, `{containers: [{name: c, resources: {requests: {cpu: "8", memory: 1Gi}}}]}`, "m.", "m; it requests cpu 8, and no node has more than 4"},
		"more than these":   {plain, `{nodeSelector: {arch: arm}, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}`, "m.", "m; it requests cpu 3, and no node that it may run on has more than 2"},
		"more than is left": {plain, `{containers: [{name: c, resources: {requests: {cpu: "3"}}}]}`, "0/2 nodes are available: 2 Insufficient cpu.", "0/2 nodes are available: 2 Insufficient cpu; it requests cpu 3, and no node has that much left: the largest has 4"},
		"no node has both": {plain, `{containers: [{name: c, resources: {requests: {cpu: "3", memory: 10Gi}}}]}`, "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.",
			"0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
		"the free node is excluded": {plain, `{containers: [{name: c, resources: {requests: {cpu: "3"}}}]}`,
			"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy existing pods anti-affinity rules. preemption: 0/2 nodes are available: 2 Insufficient cpu.",
			"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy existing pods anti-affinity rules. preemption: 0/2 nodes are available: 2 Insufficient cpu."},
		"other taints": {strings.Replace(tainted, "[{key: only, value: gpu, effect: NoSchedule}, {", "[{key: only, value: tpu, effect: NoSchedule}, {", 1), `{}`, "m.",
			"m; it does not tolerate the taint only=gpu:NoSchedule of node n1, nor those of 1 other node"},
		"all Pods of other namespaces": {plain, `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}, namespaces: [a, b]}, ` +
			`{topologyKey: rack, labelSelector: {matchLabels: {app: web}}, namespaceSelector: {}}]}}}`,
			"2 node(s) didn't match pod anti-affinity rules.",
			"2 node(s) didn't match pod anti-affinity rules; it must not share the zone of all Pods in namespace a or b; it must not share the rack of the Pods with app=web in any namespace"},
		"host port of a sidecar on one node": {plain, `{initContainers: [{name: c, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 53, protocol: UDP}]}]}`,
			"1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports.",
			"1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports; other Pods have its hostPort 53/UDP on 1 node"},
		"resource of no node": {plain, `{containers: [{name: c, resources: {requests: {example.com/gpu: "1"}}}]}`, "m.", "m; no node has the resource example.com/gpu"},
		"anti-affinity": {plain, `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}}`,
			"2 node(s) didn't match pod anti-affinity rules.", "2 node(s) didn't match pod anti-affinity rules; it must not share the zone of the Pods with app=web"},
		"affinity": {plain, `{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}}`,
			"2 node(s) didn't match pod affinity rules.", "2 node(s) didn't match pod affinity rules; it must share the zone of one of the Pods with app=web"},
		"spread": {plain, `{topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}`,
			"2 node(s) didn't match pod topology spread constraints.",
			"2 node(s) didn't match pod topology spread constraints; the numbers of the Pods with app=web may differ by 1 between values of zone (spec.topologySpreadConstraints)"},
		"spread without labels": {plain, `{topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}`,
			"2 node(s) didn't match pod topology spread constraints (missing required label).",
			"2 node(s) didn't match pod topology spread constraints (missing required label); no node has the label rack, which its topologySpreadConstraints require"},
		"host port": {plain, `{containers: [{name: c, ports: [{containerPort: 80, hostPort: 8080}]}]}`,
			"2 node(s) didn't have free ports for the requested pod ports.", "2 node(s) didn't have free ports for the requested pod ports; other Pods have its hostPort 8080/TCP on 2 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := unschedulablePod(tc.spec, tc.message)
			c := newCluster(t, append([]string{pod}, strings.Split(tc.nodes, "\n---\n")...)...)
			if why := c.Why(t.Context(), parseObject(t, pod)); why != "unschedulable: "+tc.want {
				t.Errorf("got  %q\nwant %q", why, "unschedulable: "+tc.want)
			}
		})
	}
}

func TestCutUselessPreemption(t *testing.T) {
	const refused = "0/2 nodes are available: 2 Insufficient cpu."
	for message, want := range map[string]string{
		refused: refused,
		refused + " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.":                                                 refused,
		refused + " preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.": refused,
		refused + " preemption: not eligible due to preemptionPolicy=Never.":                                                                          refused + " preemption: not eligible due to preemptionPolicy=Never.",
		refused + " preemption: 0/2 nodes are available: 2 Insufficient cpu.":                                                                         refused + " preemption: 0/2 nodes are available: 2 Insufficient cpu.",
	} {
		u := parseObject(t, unschedulablePod("{}", message))
		if p := problemOfUnstructured(u); p.text != "unschedulable: "+want || p.kind != observe.Unschedulable {
			t.Errorf("%q: got %q", message, p.text)
		}
	}
}
