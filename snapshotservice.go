package ctrlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/snapshot/objects"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// startStateDelay is how long after the start its state is read, as of then. Until
// the API server compacts it, five minutes, etcd has it; most runs end before.
const startStateDelay = 10 * time.Second

// errRestoreRunning is why a second restore does not begin beside the first.
var errRestoreRunning = errors.New("another restore is under way: wait for its end")

// SaveSnapshot returns the state as a snapshot file: see package snapshot.
func (s *Server) SaveSnapshot(ctx context.Context) ([]byte, error) {
	p, err := s.readyInstance()
	if err != nil {
		return nil, err
	}
	return p.snapshots.Save(ctx)
}

// RestoreSnapshot puts the control plane back to what a snapshot file holds: see
// control.Snapshots.
func (s *Server) RestoreSnapshot(ctx context.Context, file []byte) (control.RestoreResult, error) {
	p, err := s.readyInstance()
	if err != nil {
		return control.RestoreResult{}, err
	}
	return p.snapshots.Restore(ctx, file)
}

// Reset puts the control plane back to how it was when Start returned.
func (s *Server) Reset(ctx context.Context) (control.RestoreResult, error) {
	p, err := s.readyInstance()
	if err != nil {
		return control.RestoreResult{}, err
	}
	return p.snapshots.Reset(ctx)
}

func (s *Server) readyInstance() (*controlPlane, error) {
	p := s.instance()
	if p == nil || !p.ready.Load() {
		return nil, errNotReady
	}
	return p, nil
}

var errNotReady = errors.New("the control plane is starting: try again in a moment")

// snapshotService saves and restores the state of a control plane.
type snapshotService struct {
	owner     *controlPlane
	restoring sync.Mutex // held by a restore

	mu            sync.Mutex
	startRevision int64  // when the start was over; 0 before
	startState    []byte // the state of then, as a snapshot file; nil = not read yet
}

var _ control.Snapshots = (*snapshotService)(nil)

// Save implements control.Snapshots.
func (s *snapshotService) Save(ctx context.Context) ([]byte, error) {
	if !s.owner.ready.Load() {
		return nil, errNotReady
	}
	return s.saveAt(ctx, 0)
}

func (s *snapshotService) saveAt(ctx context.Context, revision int64) ([]byte, error) {
	p := s.owner
	state, err := p.etcd.server.ReadState(ctx, p.etcdPrefix(), revision)
	if err != nil {
		return nil, err
	}
	origin, err := readOrigin(p.certs.ServiceAccountPub)
	if err != nil {
		return nil, err
	}
	return encodeSnapshot(p.config.Name, origin, state)
}

// Restore implements control.Snapshots.
func (s *snapshotService) Restore(ctx context.Context, file []byte) (control.RestoreResult, error) {
	if !s.owner.ready.Load() {
		return control.RestoreResult{}, errNotReady
	}
	origin, err := readOrigin(s.owner.certs.ServiceAccountPub)
	if err != nil {
		return control.RestoreResult{}, err
	}
	want, err := decodeSnapshot(file, origin)
	if err != nil {
		return control.RestoreResult{}, err
	}
	return s.replaceState(ctx, file, want)
}

// Reset implements control.Snapshots.
func (s *snapshotService) Reset(ctx context.Context) (control.RestoreResult, error) {
	if !s.owner.ready.Load() {
		return control.RestoreResult{}, errNotReady
	}
	file, err := s.readStartState(ctx)
	if err != nil {
		return control.RestoreResult{}, fmt.Errorf("reset: the state of the start is not known: %w", err)
	}
	return s.Restore(ctx, file)
}

// recordStartRevision remembers that the start is over now; what there is, is read later.
func (s *snapshotService) recordStartRevision(ctx context.Context) error {
	revision, err := s.owner.etcd.server.Revision(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.startRevision = revision
	s.mu.Unlock()
	go func() {
		select {
		case <-s.owner.closing:
			return
		case <-time.After(startStateDelay):
		}
		ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
		defer cancel()
		if _, err := s.readStartState(ctx); err != nil {
			s.owner.log.Warn("reset will not work: the state of the start could not be read", "err", err)
		}
	}()
	return nil
}

// readStartState is the state of when the start was over.
func (s *snapshotService) readStartState(ctx context.Context) (file []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.startState == nil {
		s.startState, err = s.saveAt(ctx, s.startRevision)
	}
	return s.startState, err
}

// etcdPrefix is below what the API server keeps everything.
func (p *controlPlane) etcdPrefix() string {
	prefix := defaultEtcdPrefix
	for _, arg := range p.config.APIServerArgs {
		if value, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "etcd-prefix="); ok {
			prefix = value
		}
	}
	return path.Join("/", prefix)
}

// defaultEtcdPrefix is upstream's.
const defaultEtcdPrefix = "/registry"

// readOrigin tells control planes apart by the key that tokens are verified with.
func readOrigin(publicKey string) (string, error) {
	key, err := os.ReadFile(publicKey)
	if err != nil {
		return "", fmt.Errorf("public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8]), nil
}

func encodeSnapshot(name, origin string, state snapshot.State) ([]byte, error) {
	return snapshot.Encode(snapshot.Header{
		Kubernetes:   KubernetesVersion,
		Program:      Version(),
		Created:      time.Now().UTC().Truncate(time.Millisecond),
		ControlPlane: strings.TrimPrefix(name, "ctrlplane-"),
		Origin:       origin,
	}, state.WithoutTransient())
}

// decodeSnapshot reads a snapshot file for the control plane whose tokens have that
// origin, or says why it is refused.
func decodeSnapshot(file []byte, origin string) (snapshot.State, error) {
	head, state, err := snapshot.Decode(file)
	if err == nil {
		err = snapshot.CheckKubernetesVersion(head.Kubernetes, KubernetesVersion)
	}
	if err != nil {
		return state, usage.Errorf("the snapshot is refused: %w", err)
	}
	if head.Origin != origin {
		// Tokens of another control plane are strangers here.
		state = objects.WithoutServiceAccountTokens(state)
	}
	return state, nil
}
