// Package control is what another process may ask of a running control plane:
// its controllers, simulated nodes, snapshots and flags, and interventions in
// its controllers. It has types and interfaces only; package control/rest
// serves them over HTTP and has the client.
//
// What is called a usage error here, a name or number that is not valid, is recognized by
// errors.As with a ctrlplane.UsageError in the process of the control plane, and by
// apierrors.IsBadRequest in what the server answers to a client of package control/rest.
package control
