package snapshotservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// unfinishedFile is, in the data folder, the snapshot of a restore that was interrupted and
// is not finished, because the state has changed since. Further ones have a number.
const unfinishedFile = "unfinished.snapshot"

// maxUnfinished is the number of the last one, which is replaced.
const maxUnfinished = 100

// UnfinishedError says that an interrupted restore is not finished, because the state has
// changed since. It is not pending any more.
type UnfinishedError struct {
	Reason string
	// Left is what a restore of the snapshot would change.
	Left snapshot.Counts
	Dir  string // the data folder, which has the snapshot at Path
	Path string
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf(`an interrupted restore is not finished, because %s (compared with its snapshot: %d missing, %d different, %d added): 'ctrlplane --data-dir %s snapshot restore %s' finishes it, which undoes what was written since`,
		e.Reason, e.Left.Created, e.Left.Updated+e.Left.Replaced, e.Left.Deleted, words.Path(e.Dir), words.Path(e.Path))
}

// findOtherChange says what has changed the state after a restore began, other than the
// restore itself; empty = nothing. To finish the restore would undo it.
func (t Target) findOtherChange(ctx context.Context, store Store, began pendingHeader, want snapshot.State) (reason string, err error) {
	if began.Cluster == "" && began.Revision == 0 {
		return "", nil // nothing uses an embedded etcd before it holds its first state
	}
	// Without a revision, the store was created for this: any other change since then counts.
	err = store.EachChange(ctx, t.Prefix, t.recordKey()+"-now", began.Revision, func(c etcd.Change) bool {
		if want.Wants(c.Key, c.Before, c.Value) {
			return true
		}
		reason = describeOtherChange(c)
		return false
	})
	if errors.Is(err, etcd.ErrCompacted) || errors.Is(err, etcd.ErrOlder) {
		return "others may have written since: " + err.Error(), nil
	}
	return reason, err
}

func describeOtherChange(c etcd.Change) string {
	done := "written"
	if c.Value == nil {
		done = "deleted"
	}
	key := storekeys.Parse(c.Key)
	return fmt.Sprintf("%s %s was %s since", cmp.Or(key.Resource(), key.ResourcePrefix), key.Object, done)
}

// unfinishedPath returns a path that is free: what was kept earlier may still be needed.
func (t Target) unfinishedPath() string {
	path := t.Dir.Join(unfinishedFile)
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || n > maxUnfinished {
			return path
		}
		name, extension, _ := strings.Cut(unfinishedFile, ".")
		path = t.Dir.Join(fmt.Sprintf("%s-%d.%s", name, n, extension))
	}
}

// setAside ends a pending restore without finishing it, and keeps its snapshot.
func (t Target) setAside(ctx context.Context, store Store, file []byte, want snapshot.State, reason string) error {
	now, err := store.ReadState(ctx, t.Prefix, 0)
	if err != nil {
		return err
	}
	path := t.unfinishedPath()
	if err := durable.Write(path, file, !t.Dir.Ephemeral()); err != nil {
		return fmt.Errorf("snapshot of an interrupted restore: %w", err)
	}
	if err := t.removePending(ctx, store); err != nil {
		return err
	}
	return &UnfinishedError{Reason: reason, Left: snapshot.NewPlan(now, want).Counts, Dir: t.Dir.Path(), Path: path}
}
