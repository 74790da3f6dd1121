package control

import (
	"context"
	"time"
)

// Node is the status of one simulated node.
type Node struct {
	Name          string    `json:"name"`
	Ready         string    `json:"ready"`         // True, False or Unknown: the condition
	Failed        bool      `json:"failed"`        // its heartbeats are stopped
	Terminated    bool      `json:"terminated"`    // its machine is gone; the Node will be deleted
	Own           bool      `json:"own"`           // created by ctrlplane, not by a user
	Unschedulable bool      `json:"unschedulable"` // cordoned
	Deleting      bool      `json:"deleting"`      // it waits for its finalizers
	Zone          string    `json:"zone,omitempty"`
	CPU           string    `json:"cpu"`
	Memory        string    `json:"memory"`
	PodCIDR       string    `json:"podCIDR,omitempty"`
	Pods          int       `json:"pods"` // that are bound to it and have not finished
	MaxPods       int64     `json:"maxPods"`
	Created       time.Time `json:"created"`
}

// NodeList is a list of simulated nodes.
type NodeList struct {
	Items []Node `json:"items"`
}

// Nodes are the simulated nodes. If a name or a number is not valid nothing is
// changed, and the error is a usage error.
type Nodes interface {
	List(context.Context) ([]Node, error)
	Add(ctx context.Context, n int) (names []string, err error)
	Remove(ctx context.Context, names ...string) error
	Fail(ctx context.Context, names ...string) error
	Recover(ctx context.Context, names ...string) error
	Terminate(ctx context.Context, names ...string) error
}
