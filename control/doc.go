// Package control is what another process may ask of a running control plane:
// its controllers, simulated nodes, snapshots and flags, and interventions in
// its controllers. It has types and interfaces only; package control/rest
// serves them over HTTP and has the client.
package control
