// Package nodes is the simulated fleet: nodes without machines, and the life of
// the pods that are scheduled to them.
//
// What kubelets would do is spread over three parts. feed watches nodes and pods
// and decides what is due of each (pod.go, container.go: pure functions of an
// object and the time; admission.go: upstream's checks of whether a node takes a
// pod in). kwok's controllers (simulate.go) match what is due, and
// what users' Stages ask for, and write it. heartbeat renews the nodes' leases
// with upstream's own lease controller.
package nodes
