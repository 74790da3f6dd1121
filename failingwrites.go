package ctrlplane

import (
	"context"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// failingWrites counts the writes that clients try again and again and that fail, as one problem. Finding them reads
// thousands of records: it is done if a call has failed since, or from time to time, as attempts that have ended
// count for a while. It is not safe for concurrent use.
type failingWrites struct {
	find   func(ctx context.Context, now observe.Snapshot) ([]trace.FailingWrite, error)
	failed int64     // calls of all clients when they were last looked for
	next   time.Time // when they are looked for if a call has failed since
	again  time.Time // when they are, if there were some
	list   []observe.Problem
}

const (
	failingWritesPause    = time.Second
	failingWritesInterval = 5 * time.Second
	// failingWritesShare is how much longer than the search the pause after it is at least.
	failingWritesShare = 50
)

// count returns the problem at the moment of a snapshot, or nothing. It does not modify what it has returned before.
func (f *failingWrites) count(now observe.Snapshot) ([]observe.Problem, error) {
	var failed int64
	for i := range now.Clients {
		failed += now.Clients[i].Errors + now.Clients[i].Conflicts
	}
	isDue := failed != f.failed && !now.Time.Before(f.next) || len(f.list) > 0 && !now.Time.Before(f.again)
	if !isDue {
		return f.list, nil
	}
	began := time.Now()
	found, err := f.find(context.Background(), now)
	pause := failingWritesShare * time.Since(began)
	f.next, f.again = now.Time.Add(max(pause, failingWritesPause)), now.Time.Add(max(pause, failingWritesInterval))
	if err != nil {
		return f.list, err
	}
	f.failed, f.list = failed, nil
	if len(found) > 0 {
		problem := observe.Problem{Kind: "write", What: observe.KeepsFailing, Count: len(found)}
		for i, w := range found {
			if i < maxProblemObjects {
				problem.Objects = append(problem.Objects, w.Object)
			}
			if i == 0 || found[i-1].Controller != w.Controller {
				problem.Writes = append(problem.Writes, w.FailingWrite)
			}
		}
		f.list = []observe.Problem{problem}
	}
	return f.list, nil
}
