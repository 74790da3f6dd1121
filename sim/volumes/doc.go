// Package volumes provisions simulated storage: it is the controller half of a CSI
// driver without a backend, so that claims bind on simulated nodes. Volumes hold no
// data and can be reached from every node; to expand or delete one changes only its
// API object.
package volumes
