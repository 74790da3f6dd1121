// Package control is what another process may ask of a running control plane:
// its controllers, simulated nodes, snapshots and flags, and interventions in
// its controllers. It has types and interfaces only; package control/rest
// serves them over HTTP and has the client.
//
// A usage error reports a name or number that is not valid. In the process of the control
// plane, recognize it with errors.As and a ctrlplane.UsageError; in a client of package
// control/rest, with apierrors.IsBadRequest.
package control
