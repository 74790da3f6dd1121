package snapshotservice

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// PendingFile is the snapshot that a restore writes into etcd. It exists in the data
// folder from before the first write until after the last, so that the next start
// finishes a restore that was interrupted, unless the state has changed since.
const PendingFile = "restore"

// ownerFile has what the tokens of all restores from this data folder begin with. It exists
// from the first restore into an etcd cluster on.
const ownerFile = "restore-owner"

// pendingHeader is the first line of the pending file. The snapshot follows.
type pendingHeader struct {
	pendingStore
	// Revision is that of the store before the first write; 0 = it was created for this.
	Revision int64 `json:"revision,omitempty"`
}

// pendingStore is where a pending restore writes. It is never finished in another store:
// that would delete everything there.
type pendingStore struct {
	Cluster string `json:"cluster,omitempty"` // as Store.ClusterID returns it
	Prefix  string `json:"prefix"`
	// Token is unique, and recorded in the cluster as well until another restore begins
	// there: etcd derives the ID of a cluster from its configuration, so clusters with the
	// same have the same ID. It begins with the content of the owner file. An embedded etcd
	// needs none: it is in the same folder as the file.
	Token string `json:"token,omitempty"`
}

func (s pendingStore) String() string {
	if s.Cluster == "" {
		return fmt.Sprintf("the embedded etcd, below %s", s.Prefix)
	}
	return fmt.Sprintf("etcd cluster %s, below %s", s.Cluster, s.Prefix)
}

// HasPending reports whether the data folder holds a pending restore, or may hold one.
func (t Target) HasPending() bool {
	_, err := os.Stat(t.pendingPath())
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckPending fails if the data folder holds a pending restore that belongs to
// another store.
func (t Target) CheckPending(ctx context.Context, store Store) error {
	_, _, err := t.readPending(ctx, store)
	return err
}

// FinishPending writes the snapshot that the data folder holds as pending, if any.
// Nothing may read from the store before. If the state has changed since the restore was
// interrupted, it is left as it is, and the error is an [*UnfinishedError].
func (t Target) FinishPending(ctx context.Context, store Store) error {
	began, file, err := t.readPending(ctx, store)
	if file == nil || err != nil {
		return err
	}
	now, err := t.identify(ctx, store)
	if err != nil {
		return err
	}
	origin, err := t.readOriginIfAny()
	if err != nil {
		return err
	}
	want, err := t.decodeFor(origin, file)
	if err != nil {
		return t.pendingError(err)
	}
	reason := "its record in etcd is gone: another control plane has restored a snapshot since, or this is another cluster with the same ID"
	if began.Token == now.Token {
		reason, err = t.writeRest(ctx, store, began, want)
	}
	switch {
	case err != nil:
		return fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	case reason != "":
		return t.setAside(ctx, store, file, want, reason)
	}
	return t.removePending(ctx, store)
}

// maxRestAttempts limits writeRest: Leases may be written again and again.
const maxRestAttempts = 5

// writeRest writes the rest of an interrupted restore, or says which other change it would
// undo.
func (t Target) writeRest(ctx context.Context, store Store, began pendingHeader, want snapshot.State) (reason string, err error) {
	for range maxRestAttempts {
		// What is written after this is not overwritten, what was written before is found.
		now, err := store.ReadState(ctx, t.Prefix, 0)
		if err != nil {
			return "", err
		}
		if reason, err := t.findOtherChange(ctx, store, began, want); err != nil || reason != "" {
			return reason, err
		}
		if _, err := store.WriteDifferences(ctx, t.Prefix, now, want); !errors.Is(err, etcd.ErrConcurrentWrite) {
			return "", err
		}
	}
	return "others write at the same time", nil
}

// FindOther says that another control plane has begun a restore into the store of this one
// and not ended it; empty = there is none. This one must have no pending restore: it deletes
// the record of one that is over.
func (t Target) FindOther(ctx context.Context, store Store) (warning string, err error) {
	id, err := t.identify(ctx, store)
	if etcd.IsPermissionDenied(err) { // a user who may only use what is below the prefix
		return "", nil
	}
	if err != nil || id.Token == "" {
		return "", err
	}
	if t.isOwn(id.Token) {
		t.removeRecord(ctx, store)
		return "", nil
	}
	return fmt.Sprintf("the state in %s may be half restored: the restore by another control plane is running or was interrupted, and is not finished after the writes of this one: start that one again and restore the snapshot that it keeps then, or delete key %s if it does not exist any more", id, t.recordKey()), nil
}

// Replace restores a state while nothing else uses the store: it writes the pending
// file, the state, and removes the file.
func (t Target) Replace(ctx context.Context, store Store, file []byte, want snapshot.State) (etcd.WriteResult, error) {
	now, err := store.ReadState(ctx, t.Prefix, 0)
	if err == nil {
		err = t.checkNested(now)
	}
	if err == nil {
		err = t.beginPending(ctx, store, now.Revision, file)
	}
	if err != nil {
		return etcd.WriteResult{}, fmt.Errorf("nothing was restored: %w", err)
	}
	written, err := store.ReplaceState(ctx, t.Prefix, want)
	if err != nil {
		return written, t.partlyRestoredError(err)
	}
	return written, t.removePending(ctx, store)
}

// partlyRestoredError says who restores the rest. In a temporary folder nothing stays
// pending.
func (t Target) partlyRestoredError(err error) error {
	if t.Dir.Ephemeral() {
		return fmt.Errorf("only a part was restored: %w: start again with an empty etcd", err)
	}
	return fmt.Errorf("only a part was restored, the next start restores the rest: %w", err)
}

// readPending returns the pending snapshot; no file = none. It fails if that belongs to
// another store.
func (t Target) readPending(ctx context.Context, store Store) (began pendingHeader, file []byte, err error) {
	began, file, err = t.readPendingFile()
	if file == nil || err != nil {
		return began, nil, err
	}
	now, err := t.identify(ctx, store)
	if err != nil {
		return began, nil, err
	}
	if began.Cluster != now.Cluster || began.Prefix != now.Prefix {
		return began, nil, usage.Errorf("an interrupted restore into %s cannot be finished in %s: start with the options of then, or remove %s to leave that one half restored", began, now, t.pendingPath())
	}
	return began, file, nil
}

// readPendingFile returns the pending snapshot of any store; no file = none.
func (t Target) readPendingFile() (began pendingHeader, file []byte, err error) {
	data, err := os.ReadFile(t.pendingPath())
	if errors.Is(err, fs.ErrNotExist) {
		return began, nil, nil
	}
	if err != nil {
		return began, nil, fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	}
	head, file, ok := bytes.Cut(data, []byte("\n"))
	if !ok || json.Unmarshal(head, &began) != nil {
		return began, nil, t.pendingError(errors.New("its file is damaged"))
	}
	return began, file, nil
}

func (t Target) pendingError(err error) error {
	return fmt.Errorf("an interrupted restore cannot be finished: %w: remove %s to start with the current state", err, t.pendingPath())
}

// identify returns the store, and the restore that is recorded there.
func (t Target) identify(ctx context.Context, store Store) (id pendingStore, err error) {
	id.Prefix = t.Prefix
	if id.Cluster, err = store.ClusterID(ctx, t.Prefix); err == nil && id.Cluster != "" {
		id.Token, err = store.Record(ctx, t.recordKey())
	}
	return id, err
}

func (t Target) pendingPath() string { return t.Dir.Join(PendingFile) }

// recordKey is where a cluster records the token of a pending restore. It is not below
// the prefix, where a restore replaces everything.
func (t Target) recordKey() string { return t.Prefix + ".ctrlplane-restore" }

// beginPending records a restore into a store at a revision and writes its pending file, in
// that order: the record alone has no effect.
func (t Target) beginPending(ctx context.Context, store Store, revision int64, file []byte) (err error) {
	into := pendingHeader{pendingStore: pendingStore{Prefix: t.Prefix}, Revision: revision}
	if into.Cluster, err = store.ClusterID(ctx, t.Prefix); err != nil {
		return err
	}
	if into.Cluster != "" {
		owner, err := t.makeOwner()
		if err != nil {
			return err
		}
		into.Token = owner + rand.Text()
		if err := store.PutRecord(ctx, t.recordKey(), into.Token); err != nil {
			return err
		}
	}
	if err = t.writePending(into, file); err != nil {
		t.removeRecord(ctx, store)
	}
	return err
}

// makeOwner returns the content of the owner file, which it creates if it is missing.
func (t Target) makeOwner() (owner string, err error) {
	data, err := os.ReadFile(t.Dir.Join(ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(rand.Text() + "-")
		err = durable.Write(t.Dir.Join(ownerFile), data, !t.Dir.Ephemeral())
	}
	return string(data), err
}

// isOwn reports whether a token is that of a restore from this data folder.
func (t Target) isOwn(token string) bool {
	owner, err := os.ReadFile(t.Dir.Join(ownerFile))
	return err == nil && len(owner) > 0 && strings.HasPrefix(token, string(owner))
}

// removeRecord deletes the record of a restore from this data folder. If that fails, the next
// start does it: without the pending file the record has no effect.
func (t Target) removeRecord(ctx context.Context, store Store) {
	if id, err := t.identify(ctx, store); err == nil && t.isOwn(id.Token) {
		_ = store.DeleteRecord(ctx, t.recordKey(), id.Token)
	}
}

func (t Target) writePending(into pendingHeader, file []byte) error {
	head, err := json.Marshal(into)
	if err != nil {
		return err
	}
	return durable.Write(t.pendingPath(), slices.Concat(head, []byte("\n"), file), !t.Dir.Ephemeral())
}

// removePending ends a restore.
func (t Target) removePending(ctx context.Context, store Store) error {
	if err := t.removePendingFile(); err != nil {
		return err
	}
	t.removeRecord(ctx, store)
	return nil
}

func (t Target) removePendingFile() error {
	return durable.Remove(t.pendingPath(), !t.Dir.Ephemeral())
}
