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

// rememberDelay is how long after the start its state is read, as of then. Until
// the API server compacts it, five minutes, etcd has it; most runs end before.
const rememberDelay = 10 * time.Second

// errBusy is why a second restore does not begin beside the first.
var errBusy = errors.New("another restore is under way: wait for its end")

// Save returns the state as a snapshot file: see package snapshot.
func (s *Server) Save(ctx context.Context) ([]byte, error) {
	p, err := s.readyPlane()
	if err != nil {
		return nil, err
	}
	return p.states.Save(ctx)
}

// Restore puts the control plane back to what a snapshot file holds: see
// control.Snapshots.
func (s *Server) Restore(ctx context.Context, file []byte) (control.Restored, error) {
	p, err := s.readyPlane()
	if err != nil {
		return control.Restored{}, err
	}
	return p.states.Restore(ctx, file)
}

// Reset puts the control plane back to how it was when Start returned.
func (s *Server) Reset(ctx context.Context) (control.Restored, error) {
	p, err := s.readyPlane()
	if err != nil {
		return control.Restored{}, err
	}
	return p.states.Reset(ctx)
}

func (s *Server) readyPlane() (*plane, error) {
	p := s.running()
	if p == nil || !p.ready.Load() {
		return nil, errNotReady
	}
	return p, nil
}

var errNotReady = errors.New("the control plane is starting: try again in a moment")

// states saves and restores the state of a control plane.
type states struct {
	plane *plane
	busy  sync.Mutex // held by a restore

	mu       sync.Mutex
	revision int64  // when the start was over; 0 before
	begun    []byte // the state of then, as a snapshot file; nil = not read yet
}

var _ control.Snapshots = (*states)(nil)

// Save implements control.Snapshots.
func (s *states) Save(ctx context.Context) ([]byte, error) {
	if !s.plane.ready.Load() {
		return nil, errNotReady
	}
	return s.save(ctx, 0)
}

func (s *states) save(ctx context.Context, revision int64) ([]byte, error) {
	p := s.plane
	state, err := p.storage.server.Read(ctx, p.etcdPrefix(), revision)
	if err != nil {
		return nil, err
	}
	origin, err := originOf(p.certs.ServiceAccountPub)
	if err != nil {
		return nil, err
	}
	return encode(p.Server.Name, origin, state)
}

// Restore implements control.Snapshots.
func (s *states) Restore(ctx context.Context, file []byte) (control.Restored, error) {
	if !s.plane.ready.Load() {
		return control.Restored{}, errNotReady
	}
	origin, err := originOf(s.plane.certs.ServiceAccountPub)
	if err != nil {
		return control.Restored{}, err
	}
	want, err := decode(file, origin)
	if err != nil {
		return control.Restored{}, err
	}
	return s.restore(ctx, file, want)
}

// Reset implements control.Snapshots.
func (s *states) Reset(ctx context.Context) (control.Restored, error) {
	if !s.plane.ready.Load() {
		return control.Restored{}, errNotReady
	}
	file, err := s.start(ctx)
	if err != nil {
		return control.Restored{}, fmt.Errorf("reset: the state of the start is not known: %w", err)
	}
	return s.Restore(ctx, file)
}

// note remembers that the start is over now; what there is, is read later.
func (s *states) note(ctx context.Context) error {
	revision, err := s.plane.storage.server.Revision(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.revision = revision
	s.mu.Unlock()
	go func() {
		select {
		case <-s.plane.ending:
			return
		case <-time.After(rememberDelay):
		}
		ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
		defer cancel()
		if _, err := s.start(ctx); err != nil {
			s.plane.log.Warn("reset will not work: the state of the start could not be read", "err", err)
		}
	}()
	return nil
}

// start is the state of when the start was over.
func (s *states) start(ctx context.Context) (file []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun == nil {
		s.begun, err = s.save(ctx, s.revision)
	}
	return s.begun, err
}

// etcdPrefix is below what the API server keeps everything.
func (p *plane) etcdPrefix() string {
	prefix := defaultPrefix
	for _, arg := range p.Server.APIServerArgs {
		if value, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "etcd-prefix="); ok {
			prefix = value
		}
	}
	return path.Join("/", prefix)
}

// defaultPrefix is upstream's.
const defaultPrefix = "/registry"

// originOf tells control planes apart by the key that tokens are verified with.
func originOf(publicKey string) (string, error) {
	key, err := os.ReadFile(publicKey)
	if err != nil {
		return "", fmt.Errorf("public key of service account tokens: %w", err)
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8]), nil
}

func encode(name, origin string, state snapshot.State) ([]byte, error) {
	return snapshot.Encode(snapshot.Header{
		Kubernetes: KubernetesVersion,
		Program:    Version(),
		Created:    time.Now().UTC().Truncate(time.Millisecond),
		Plane:      strings.TrimPrefix(name, "ctrlplane-"),
		Origin:     origin,
	}, state.Kept())
}

// decode reads a snapshot file for the control plane whose tokens have that
// origin, or says why it is refused.
func decode(file []byte, origin string) (snapshot.State, error) {
	head, state, err := snapshot.Decode(file)
	if err == nil {
		err = snapshot.CheckKubernetes(head.Kubernetes, KubernetesVersion)
	}
	if err != nil {
		return state, usage.Errorf("the snapshot is refused: %w", err)
	}
	if head.Origin != origin {
		// Tokens of another control plane are strangers here.
		state = objects.WithoutTokens(state)
	}
	return state, nil
}
