// Package nodes simulates nodes: it creates Nodes without machines and does for
// them and for their Pods what kubelets would do.
//
// Three parts share this work. The feeds (feed.go) watch Nodes and Pods and decide
// what is due for each: pod.go and container.go are pure functions of an object and
// the time, admission.go calls upstream's checks of whether a node accepts a Pod.
// kwok's controllers (simulation.go) match what is due, and the Stage objects of
// users, and write the result. heartbeat.go renews the Leases of the nodes with
// upstream's lease controller.
package nodes
