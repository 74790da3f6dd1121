// Package volumes provisions storage that is nowhere, so that claims bind on
// simulated nodes and offline: the controller half of a CSI driver without a
// backend. Volumes hold no data, can be reached from every node, and are grown
// and deleted on paper only.
package volumes
