package observe

import (
	"sync"
	"time"
)

// Problem counts the objects of a kind that have the same problem, which need not end by itself, or writes that fail.
type Problem struct {
	Kind    string      `json:"kind"` // Pod, Job, Node or write
	What    ProblemKind `json:"problem"`
	Count   int         `json:"count"`
	Objects []Object    `json:"objects"` // the first one of each owner, by namespace and name, and then others, not all of many; those of writes by client
	// Writes has, if these are writes, the most frequent one of each client.
	Writes []FailingWrite `json:"writes,omitempty"`
}

// FailingWrite is a write that a client tries again and again, and that fails each time.
type FailingWrite struct {
	Controller  string `json:"controller"` // the client's name
	Verb        string `json:"verb"`
	Object      Object `json:"object"`
	Subresource string `json:"subresource,omitempty"`
	Times       int    `json:"times"` // in a row
	Status      int    `json:"status,omitempty"`
	Conflict    bool   `json:"conflict,omitempty"` // the last attempt had one, perhaps injected
}

// ProblemKind is what is wrong with an object of a [Problem].
type ProblemKind string

// The problems of objects.
const (
	CannotStart     ProblemKind = "cannotStart"     // a container waits for what it needs, such as a ConfigMap, an image or a volume
	WaitsForRestart ProblemKind = "waitsForRestart" // a container has failed and is to be restarted: CrashLoopBackOff
	Unschedulable   ProblemKind = "unschedulable"
	HasFailed       ProblemKind = "failed"
	MissingNode     ProblemKind = "missingNode" // a Pod is assigned to a node that does not exist
	NotReady        ProblemKind = "notReady"
	KeepsFailing    ProblemKind = "keepsFailing" // a client tries a write again and again
)

// problems are those that were last read.
type problems struct {
	mu   sync.Mutex
	list []Problem
	next time.Time // when they are read again while a controller is busy
}

// readProblems returns the problems of objects; while a controller is busy, as of a moment before, as for timers.
func (o *Observer) readProblems(now *Snapshot, isBusy bool) []Problem {
	asks := o.options.Load()
	if asks == nil || asks.Problems == nil {
		return nil
	}
	p := &o.problems
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isBusy || !now.Time.Before(p.next) {
		began := time.Now()
		p.list = asks.Problems(*now)
		p.next = now.Time.Add(max(timerInterval, timerShare*time.Since(began)))
	}
	return p.list
}
