// Package volumes provisions simulated storage: it is the controller half of a CSI
// driver without a backend, so that claims bind on simulated nodes. Volumes can be reached from
// every node; to expand one changes only its API object. What containers write to them is
// in package container.
package volumes
