package snapshotservice

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// PendingFile is the snapshot that a restore writes into etcd. It exists in the data
// folder from before the first write until after the last, so that the next start
// finishes a restore that was interrupted.
const PendingFile = "restore"

// Store is what this package needs of an etcd.Server.
type Store interface {
	Revision(ctx context.Context) (int64, error)
	ReadState(ctx context.Context, prefix string, revision int64) (snapshot.State, error)
	ReplaceState(ctx context.Context, prefix string, want snapshot.State) (etcd.WriteResult, error)
	// ClusterID identifies an etcd cluster; empty = the embedded etcd of the data folder.
	ClusterID(ctx context.Context) (string, error)
}

// pendingStore is where a pending restore writes. It is the first line of the pending
// file, before the snapshot, so that the restore is never finished in another store:
// that would delete everything there.
type pendingStore struct {
	Cluster string `json:"cluster,omitempty"` // as Store.ClusterID returns it
	Prefix  string `json:"prefix"`
}

func (s pendingStore) String() string {
	if s.Cluster == "" {
		return fmt.Sprintf("the embedded etcd, below %s", s.Prefix)
	}
	return fmt.Sprintf("etcd cluster %s, below %s", s.Cluster, s.Prefix)
}

// Versions are what a snapshot's header says of the program that wrote it.
type Versions struct {
	Kubernetes string
	Program    string
}

// Target is a data folder whose state is saved and restored.
type Target struct {
	Dir *datadir.Dir
	// Prefix is where the API server keeps everything in etcd, such as "/registry".
	Prefix string
	// ControlPlane is the name that a snapshot's header has for its origin.
	ControlPlane string
	Versions     Versions
}

// Save returns the state at a revision as a snapshot file; 0 = the newest.
func (t Target) Save(ctx context.Context, store Store, revision int64) ([]byte, error) {
	state, err := store.ReadState(ctx, t.Prefix, revision)
	if err != nil {
		return nil, err
	}
	return t.Encode(state)
}

// Encode returns a state of this control plane as a snapshot file.
func (t Target) Encode(state snapshot.State) ([]byte, error) {
	origin, err := t.readOrigin()
	if err != nil {
		return nil, err
	}
	return snapshot.Encode(snapshot.Header{
		Kubernetes:   t.Versions.Kubernetes,
		Program:      t.Versions.Program,
		Created:      time.Now().UTC().Truncate(time.Millisecond),
		ControlPlane: t.ControlPlane,
		Origin:       origin,
	}, state.WithoutTransient())
}

// Decode reads a snapshot file for this control plane, or says why it is refused.
func (t Target) Decode(file []byte) (snapshot.State, error) {
	origin, err := t.readOrigin()
	if err != nil {
		return snapshot.State{}, err
	}
	return t.decodeFor(origin, file)
}

// decodeFor reads a snapshot file for the control plane with that origin.
func (t Target) decodeFor(origin string, file []byte) (snapshot.State, error) {
	head, state, err := snapshot.Decode(file)
	if err == nil {
		err = snapshot.CheckKubernetesVersion(head.Kubernetes, t.Versions.Kubernetes)
	}
	if err != nil {
		return state, usage.Errorf("the snapshot is refused: %w", err)
	}
	if head.Origin != origin {
		// This control plane rejects tokens that another one has signed.
		state = objects.WithoutServiceAccountTokens(state)
	}
	return state, nil
}

// readOrigin identifies the control plane by the key that service account tokens
// are verified with.
func (t Target) readOrigin() (string, error) {
	key, err := os.ReadFile(t.Dir.Join("pki", "sa.pub"))
	if err != nil {
		return "", fmt.Errorf("public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8]), nil
}

// ReadInitial reads the snapshot at path with which a new control plane starts, or
// says why it cannot.
func (t Target) ReadInitial(path string) (file []byte, err error) {
	if _, err := os.Stat(t.memberPath()); err == nil {
		return nil, usage.Errorf("data folder %s holds a control plane already, so it cannot start from a snapshot: choose another --name, or start it and use \"snapshot restore\"", t.Dir.Path())
	}
	if file, err = os.ReadFile(path); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	_, err = t.decodeFor("", file)
	return file, err
}

// PlaceInitial makes the snapshot at path the initial state of the embedded etcd:
// FinishPending writes it, also at a later start if this one is killed.
func (t Target) PlaceInitial(path string) error {
	file, err := t.ReadInitial(path)
	if err != nil {
		return err
	}
	if err := t.writePending(pendingStore{Prefix: t.Prefix}, file); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// WithdrawInitial removes, after a failed start, what PlaceInitial has placed and the
// embedded etcd that was created from it.
func (t Target) WithdrawInitial() error {
	err := t.removePending()
	if errors.Is(err, fs.ErrNotExist) { // it was finished, or not placed
		err = nil
	}
	return errors.Join(err, os.RemoveAll(t.memberPath()))
}

// RestoreInitial writes the snapshot at path into an etcd cluster that holds no
// control plane yet.
func (t Target) RestoreInitial(ctx context.Context, store Store, path string) error {
	file, err := t.ReadInitial(path)
	if err != nil {
		return err
	}
	state, err := store.ReadState(ctx, t.Prefix, 0)
	if err == nil && len(state.Entries) > 0 {
		err = usage.Errorf("the etcd cluster holds a control plane already, so it cannot start from a snapshot: start it without --from and use \"snapshot restore\"")
	}
	if err != nil {
		return err
	}
	origin, err := t.readOriginIfAny()
	if err != nil {
		return err
	}
	want, err := t.decodeFor(origin, file)
	if err != nil {
		return err
	}
	_, err = t.Replace(ctx, store, file, want)
	return err
}

// CheckPending fails if the data folder holds a pending restore that belongs to
// another store.
func (t Target) CheckPending(ctx context.Context, store Store) error {
	_, err := t.readPending(ctx, store)
	return err
}

// FinishPending writes the snapshot that the data folder holds as pending, if any.
// Nothing may read from the store before.
func (t Target) FinishPending(ctx context.Context, store Store) error {
	file, err := t.readPending(ctx, store)
	if file == nil || err != nil {
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
	if _, err := store.ReplaceState(ctx, t.Prefix, want); err != nil {
		return fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	}
	return t.removePending()
}

// readOriginIfAny returns no origin if there is no key: new ones are made, and no
// token is valid.
func (t Target) readOriginIfAny() (string, error) {
	origin, err := t.readOrigin()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return origin, err
}

// readPending returns the pending snapshot; nil = none. It fails if that belongs to
// another store.
func (t Target) readPending(ctx context.Context, store Store) (file []byte, err error) {
	data, err := os.ReadFile(t.pendingPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	}
	head, file, ok := bytes.Cut(data, []byte("\n"))
	var began pendingStore
	if !ok || json.Unmarshal(head, &began) != nil {
		return nil, t.pendingError(errors.New("its file is damaged"))
	}
	now, err := t.identify(ctx, store)
	if err != nil {
		return nil, err
	}
	if began != now {
		return nil, usage.Errorf("an interrupted restore into %s cannot be finished in %s: start with the options of then, or remove %s to leave that one half restored", began, now, t.pendingPath())
	}
	return file, nil
}

func (t Target) pendingError(err error) error {
	return fmt.Errorf("an interrupted restore cannot be finished: %w: remove %s to start with the current state", err, t.pendingPath())
}

// identify returns the store that a restore would write into.
func (t Target) identify(ctx context.Context, store Store) (pendingStore, error) {
	cluster, err := store.ClusterID(ctx)
	return pendingStore{Cluster: cluster, Prefix: t.Prefix}, err
}

// Replace restores a state while nothing else uses the store: it writes the pending
// file, the state, and removes the file.
func (t Target) Replace(ctx context.Context, store Store, file []byte, want snapshot.State) (etcd.WriteResult, error) {
	if err := t.beginPending(ctx, store, file); err != nil {
		return etcd.WriteResult{}, fmt.Errorf("nothing was restored: %w", err)
	}
	written, err := store.ReplaceState(ctx, t.Prefix, want)
	if err != nil {
		return written, fmt.Errorf("only a part was restored, the next start restores the rest: %w", err)
	}
	return written, t.removePending()
}

func (t Target) pendingPath() string { return t.Dir.Join(PendingFile) }

func (t Target) memberPath() string { return t.Dir.Join("etcd", "member") }

// beginPending writes the pending file of a restore into store.
func (t Target) beginPending(ctx context.Context, store Store, file []byte) error {
	into, err := t.identify(ctx, store)
	if err != nil {
		return err
	}
	return t.writePending(into, file)
}

func (t Target) writePending(into pendingStore, file []byte) error {
	head, err := json.Marshal(into)
	if err != nil {
		return err
	}
	return durable.Write(t.pendingPath(), slices.Concat(head, []byte("\n"), file), !t.Dir.Ephemeral())
}

func (t Target) removePending() error {
	return durable.Remove(t.pendingPath(), !t.Dir.Ephemeral())
}
