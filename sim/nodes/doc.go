// Package nodes simulates nodes: it creates Nodes without machines and does for
// them and for their Pods what kubelets would do.
//
// Four parts share this work. The feeds (feed.go) follow Nodes and Pods and decide
// what is due for each: pod.go and container.go are pure functions of an object and
// the time, admission.go calls upstream's checks of whether a node accepts a Pod.
// The players (player.go) write what is due; kwok's controllers (simulation.go) play
// the Stage objects of users. heartbeat.go renews the Leases of the nodes.
package nodes
