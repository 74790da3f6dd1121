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
