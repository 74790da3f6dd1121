// Package nodes simulates nodes: it creates Nodes without machines and does for
// them and for their Pods what kubelets would do.
//
// The feeds (feed.go) follow Nodes and Pods and pass each version to the registry
// (podregistry.go), which decides what is due for it: pod.go and container.go compute
// the status of a Pod from the Pod, the time, its runs and the delays of its restarts
// (backoff.go), admission.go calls upstream's checks of whether a node accepts a Pod.
// With commandRunner.mayStart, computing a status also starts, stops and replaces runs
// (command.go); when one changes, the Pod passes through the feed again (commandchanges.go).
// The players (player.go) write what is due, and have the Stage objects of users played (stageplay.go). heartbeat.go
// renews the Leases of the nodes.
package nodes
