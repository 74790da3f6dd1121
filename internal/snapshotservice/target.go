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
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Store is what this package needs of an etcd.Server.
type Store interface {
	Revision(ctx context.Context, prefix string) (int64, error)
	ReadState(ctx context.Context, prefix string, revision int64) (snapshot.State, error)
	ReplaceState(ctx context.Context, prefix string, want snapshot.State) (etcd.WriteResult, error)
	// WriteDifferences fails with etcd.ErrConcurrentWrite if a key was written since now.
	WriteDifferences(ctx context.Context, prefix string, now, want snapshot.State) (etcd.WriteResult, error)
	// CheckSpace fails if etcd has no space for what differs between two states.
	CheckSpace(now, want snapshot.State) error
	// ClusterID identifies an etcd cluster; empty = the embedded etcd of the data folder.
	ClusterID(ctx context.Context, prefix string) (string, error)
	// PutRecord, Record and DeleteRecord access a key that is not part of the state. The
	// value of a missing one is empty. Another value than the given one is not deleted.
	PutRecord(ctx context.Context, key, value string) error
	Record(ctx context.Context, key string) (string, error)
	DeleteRecord(ctx context.Context, key, value string) error
	EachChange(ctx context.Context, prefix, marker string, since int64, f func(etcd.Change) bool) error
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
	// CheckReadable fails if the API server could not read values of a state that are not stored already; nil = it is
	// not known.
	CheckReadable func(state, stored snapshot.State) error
}

// Encode returns a state of this control plane as a snapshot file.
func (t Target) Encode(state snapshot.State) ([]byte, error) {
	if err := t.checkSaved(state); err != nil {
		return nil, err
	}
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

// checkReadable refuses a state with values that the API server could not read, unless they are stored already.
func (t Target) checkReadable(state, stored snapshot.State) error {
	if t.CheckReadable == nil {
		return nil
	}
	if err := t.CheckReadable(state, stored); err != nil {
		return usage.Errorf("the snapshot is refused: %w", err)
	}
	return nil
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

// Initial is the snapshot with which a new control plane starts. The zero value is none.
type Initial struct {
	Path string
	Data []byte // of a file, in place of Path
}

// IsNone reports whether a control plane starts without a snapshot.
func (i Initial) IsNone() bool { return i.Path == "" && i.Data == nil }

func (i Initial) read() ([]byte, error) {
	if i.Data != nil {
		return i.Data, nil
	}
	return os.ReadFile(i.Path)
}

// ReadInitial reads the snapshot with which a new control plane starts, or says why it
// cannot.
func (t Target) ReadInitial(from Initial) (file []byte, err error) {
	if file, err = from.read(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	state, err := t.decodeFor("", file)
	if err != nil {
		return file, err
	}
	return file, t.checkReadable(state, snapshot.State{})
}

// PlaceInitial makes a snapshot the initial state of the embedded etcd:
// FinishPending writes it, also at a later start if this one is killed.
func (t Target) PlaceInitial(from Initial) error {
	if _, err := os.Stat(t.memberPath()); err == nil {
		return usage.Errorf("data folder %s holds a control plane already, so it cannot start from a snapshot: choose another --name, or start it and use \"snapshot restore\"", t.Dir.Path())
	}
	file, err := t.ReadInitial(from)
	if err != nil {
		return err
	}
	pending, _, err := t.readPendingFile()
	if err != nil {
		return err
	}
	if pending.Cluster != "" {
		return usage.Errorf("an interrupted restore into %s is pending in data folder %s: choose another --name, start with the --etcd-endpoints of then to finish it, or remove %s to leave that one half restored", pending, t.Dir.Path(), t.pendingPath())
	}
	if err := t.writePending(pendingHeader{pendingStore: pendingStore{Prefix: t.Prefix}}, file); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// WithdrawInitial removes, after a failed start, what PlaceInitial has placed and the
// embedded etcd that was created from it.
func (t Target) WithdrawInitial() error {
	err := t.removePendingFile()
	if errors.Is(err, fs.ErrNotExist) { // it was finished, or not placed
		err = nil
	}
	return errors.Join(err, os.RemoveAll(t.memberPath()))
}

// RestoreInitial writes a snapshot into an etcd cluster that holds no
// control plane yet.
func (t Target) RestoreInitial(ctx context.Context, store Store, from Initial) error {
	file, err := t.ReadInitial(from)
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

// readOriginIfAny returns no origin if there is no key: new ones are made, and no
// token is valid.
func (t Target) readOriginIfAny() (string, error) {
	origin, err := t.readOrigin()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return origin, err
}

func (t Target) memberPath() string { return t.Dir.Join("etcd", "member") }
