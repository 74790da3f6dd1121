package nodes

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// fleetLabel marks the nodes that the fleet has created.
const fleetLabel = "ctrlplane/fleet"

func isFleetNode(node *corev1.Node) bool {
	_, ok := node.Labels[fleetLabel]
	return ok
}

// freeNames returns the n names with the lowest numbers that are not taken.
func freeNames(taken map[string]bool, n int) []string {
	names := make([]string, 0, max(n, 0))
	for i := 1; len(names) < n; i++ {
		if name := nodeName(i); !taken[name] {
			names = append(names, name)
		}
	}
	return names
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i) }

// zoneOf returns the zone of a node that freeNames has named, of n zones.
func zoneOf(name string, n int) string {
	i, err := strconv.Atoi(name[len("node-"):])
	if err != nil {
		panic("nodes: not the name of a fleet node: " + name)
	}
	return "zone-" + string(rune('a'+(i-1)%n))
}
