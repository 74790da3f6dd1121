package snapshotservice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// PlaceInitial makes the snapshot at path the initial state of a data folder that
// holds no control plane yet: FinishPending writes it.
func (t Target) PlaceInitial(path string) error {
	if _, err := os.Stat(t.Dir.Join("etcd")); err == nil {
		return usage.Errorf("data folder %s holds a control plane already, so it cannot start from a snapshot: choose another --name, or start it and use \"snapshot restore\"", t.Dir.Path())
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err := t.decodeFor("", file); err != nil {
		return err
	}
	if err := t.writePending(file); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// RequireEmpty fails if the store holds a control plane already, and withdraws what
// PlaceInitial has placed.
func (t Target) RequireEmpty(ctx context.Context, store Store) error {
	state, err := store.ReadState(ctx, t.Prefix, 0)
	if err == nil && len(state.Entries) > 0 {
		err = usage.Errorf("the etcd cluster holds a control plane already, so it cannot start from a snapshot: start it without --from and use \"snapshot restore\"")
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.pendingPath()))
	}
	return nil
}

// FinishPending writes the snapshot that the data folder holds as pending, if any.
// Nothing may read from the store before.
func (t Target) FinishPending(ctx context.Context, store Store) error {
	file, err := os.ReadFile(t.pendingPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	}
	origin, err := t.readOrigin()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a key, new ones are made: no token is valid
		return err
	}
	want, err := t.decodeFor(origin, file)
	if err != nil {
		return fmt.Errorf("an interrupted restore cannot be finished: %w: remove %s to start with the current state", err, t.pendingPath())
	}
	if _, err := store.ReplaceState(ctx, t.Prefix, want); err != nil {
		return fmt.Errorf("an interrupted restore cannot be finished: %w", err)
	}
	return t.removePending()
}

// Replace restores a state while nothing else uses the store: it writes the pending
// file, the state, and removes the file.
func (t Target) Replace(ctx context.Context, store Store, file []byte, want snapshot.State) (etcd.WriteResult, error) {
	if err := t.writePending(file); err != nil {
		return etcd.WriteResult{}, fmt.Errorf("nothing was restored: %w", err)
	}
	written, err := store.ReplaceState(ctx, t.Prefix, want)
	if err != nil {
		return written, fmt.Errorf("only a part was restored, the next start restores the rest: %w", err)
	}
	return written, t.removePending()
}

func (t Target) pendingPath() string { return t.Dir.Join(PendingFile) }

func (t Target) writePending(file []byte) error {
	return durable.Write(t.pendingPath(), file, !t.Dir.Ephemeral())
}

func (t Target) removePending() error {
	return durable.Remove(t.pendingPath(), !t.Dir.Ephemeral())
}
