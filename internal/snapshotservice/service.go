// Package snapshotservice saves the state of a control plane as a snapshot file and
// restores it, in place while the control plane runs (Service) or in the data folder
// of one that is not running (Target).
package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// startStateDelay is how long after the start its state is read, and the longest that the
// controllers may take for their first work. etcd keeps that revision until the API server
// compacts it, five minutes later; most control planes close before the delay is over, and
// then nothing is read.
const startStateDelay = 10 * time.Second

// revisionTimeout bounds the read of the start revision, which the first change waits for.
const revisionTimeout = 5 * time.Second

// closeGrace is how long Close lets a restore go on. One that is cut off stays pending: the
// next start finishes it.
const closeGrace = 5 * time.Second

var errClosing = errors.New("the control plane is stopping")

// Config is what the Service needs of the other parts of a control plane.
type Config struct {
	Target Target
	Store  Store
	// SharedStore says that other processes act on the same state, which no restore
	// in this one could stop.
	SharedStore bool
	// Refused is why the state can neither be saved nor restored; nil = it can.
	Refused error

	// SuspendNodes and SuspendControllers stop what acts in this process. resume
	// starts it again until ctx ends, and then only releases it, so that it can be closed;
	// crdsReplaced says that informers of custom resources have lost their watch.
	SuspendNodes       func() (resume func(context.Context) error, err error)
	SuspendControllers func() (resume func(ctx context.Context, crdsReplaced bool) error, err error)
	// BlockWrites makes the API server block writes until release, and refuse them then if the
	// state was restored. If the control plane closes with a part restored, release is not
	// called: the writes end with their requests.
	BlockWrites func(context.Context) (release func(restored bool), err error)
	// EstablishPolicy does again what a start of the API server does once it serves: it completes the
	// bootstrap policy and the objects of the APIs that this process serves.
	EstablishPolicy func(context.Context) error
	// WaitInformers return when informers of this process have seen what was written, or
	// receive nothing more.
	WaitInformers []func(context.Context, informersync.Revisions) error
	// WaitSettled returns when the controllers have nothing left to do, or ctx ends.
	WaitSettled func(ctx context.Context) error
	// Client is how to ask the API server which kinds it serves.
	Client *rest.Config

	// Changed is called with what a restore writes, once it is written.
	Changed func([]Change)
	// Restored is called after each restore with a sentence that says what it did, and whether it failed.
	Restored func(message string, failed bool)
	Logger   *slog.Logger
}

// Service implements control.Snapshots for a control plane that runs.
type Service struct {
	cfg  Config
	turn chan struct{} // holds an element while a restore is running
	// access holds an element while a restore writes the state, or Save reads it: in between, the
	// state is neither the one before the restore nor that of the snapshot.
	access chan struct{}

	closing context.Context // ends when Close begins
	cancel  context.CancelFunc
	reader  sync.WaitGroup

	restores    context.Context // ends what a restore waits for
	cutRestores context.CancelFunc

	mu            sync.Mutex
	started       bool
	unchanged     context.Context // ends when the start revision is final
	fix           context.CancelFunc
	startRevision int64 // of the store when the start was over; 0 = unknown

	reading    chan struct{} // holds an element while startState is read
	startState []byte        // the state at startRevision, as a snapshot file; nil = not read yet
}

var _ control.Snapshots = (*Service)(nil)

// New returns a Service that refuses all calls until Started.
func New(cfg Config) *Service {
	s := &Service{cfg: cfg, turn: make(chan struct{}, 1), access: make(chan struct{}, 1), reading: make(chan struct{}, 1)}
	s.restores, s.cutRestores = context.WithCancel(context.Background())
	s.closing, s.cancel = context.WithCancel(context.Background())
	s.unchanged, s.fix = context.WithCancel(s.closing)
	return s
}

// Started says that the start is over. What Reset restores is the state before the first
// change from outside, or that of the moment when the controllers have done their first
// work, whichever is earlier. It is read later, in the background.
func (s *Service) Started(ctx context.Context) error {
	err := s.noteStartRevision(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	if err != nil {
		s.fix()
		return err
	}
	s.reader.Go(s.readStartStateLater)
	return nil
}

// noteStartRevision makes the current revision the one that Reset restores.
func (s *Service) noteStartRevision(ctx context.Context) error {
	revision, err := s.cfg.Store.Revision(ctx, s.cfg.Target.Prefix)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unchanged.Err() == nil {
		s.startRevision = revision
	}
	return nil
}

// BeforeChange is called before the first request from outside that may change the state,
// and may be called before others. It returns when the state before is known to Reset. It ignores the
// end of ctx: a request whose client has gone may change the state all the same.
func (s *Service) BeforeChange(ctx context.Context) {
	if s.unchanged.Err() != nil { // as of most requests
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revisionTimeout)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	s.fixStartRevision(ctx)
}

// fixStartRevision makes the current revision the start revision, for good.
func (s *Service) fixStartRevision(ctx context.Context) {
	if s.unchanged.Err() != nil || s.checkStarted() != nil {
		return
	}
	if err := s.noteStartRevision(ctx); err != nil {
		s.cfg.Logger.Warn("reset will return to the moment when the start was over", "err", err)
	}
	s.fix()
}

// awaitFirstWork returns when the start revision is final.
func (s *Service) awaitFirstWork() {
	ctx, cancel := context.WithTimeout(s.unchanged, startStateDelay)
	defer cancel()
	if err := s.cfg.WaitSettled(ctx); err != nil && s.unchanged.Err() == nil {
		s.cfg.Logger.Debug("the controllers have not settled after the start", "err", err)
	}
	s.fixStartRevision(s.closing)
}

// Close ends the background read and, after closeGrace, a restore that is running. From now on
// a restore resumes nothing.
func (s *Service) Close() error {
	s.cancel()
	cut := time.AfterFunc(closeGrace, s.cutRestores)
	defer cut.Stop()
	s.turn <- struct{}{}
	<-s.turn // a restore from now on is refused
	s.reader.Wait()
	return nil
}

func (s *Service) readStartStateLater() {
	delay := time.NewTimer(startStateDelay)
	defer delay.Stop()
	s.awaitFirstWork()
	select {
	case <-s.closing.Done():
		return
	case <-delay.C:
	}
	ctx, cancel := context.WithTimeout(s.closing, restoreTimeout)
	defer cancel()
	if _, err := s.readStartState(ctx); err != nil && s.closing.Err() == nil {
		s.cfg.Logger.Warn("reset will not work: the state of the start could not be read", "err", err)
	}
}

// readStartState returns the state of the moment when the start was over. The start revision
// must be final.
func (s *Service) readStartState(ctx context.Context) (file []byte, err error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.startState != nil {
		return s.startState, nil
	}
	revision := s.finalStartRevision()
	if revision == 0 {
		return nil, errors.New("its revision could not be read")
	}
	state, err := s.cfg.Store.ReadState(ctx, s.cfg.Target.Prefix, revision)
	if err != nil {
		return nil, err
	}
	s.startState, err = s.cfg.Target.Encode(withoutNested(state)) // a restore checks whether they are there then
	return s.startState, err
}

func (s *Service) finalStartRevision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startRevision
}

func (s *Service) checkStarted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return control.ErrNotReady
	}
	return nil
}

// checkCall fails if a state cannot be saved or restored, or not yet.
func (s *Service) checkCall() error {
	if s.cfg.Refused != nil {
		return s.cfg.Refused
	}
	return s.checkStarted()
}

// Save implements control.Snapshots.
func (s *Service) Save(ctx context.Context) ([]byte, error) {
	if err := s.checkCall(); err != nil {
		return nil, err
	}
	state, err := s.readWholeState(ctx)
	if err != nil {
		return nil, err
	}
	return s.cfg.Target.Encode(state)
}

// readWholeState reads the state when no restore has written only a part of it.
func (s *Service) readWholeState(ctx context.Context) (snapshot.State, error) {
	select {
	case s.access <- struct{}{}:
		defer func() { <-s.access }()
	case <-s.closing.Done():
		return snapshot.State{}, errClosing
	case <-ctx.Done():
		return snapshot.State{}, fmt.Errorf("a restore or another save is running: %w", context.Cause(ctx))
	}
	return s.cfg.Store.ReadState(ctx, s.cfg.Target.Prefix, 0)
}

// Restore implements control.Snapshots.
func (s *Service) Restore(ctx context.Context, file []byte) (control.RestoreResult, error) {
	if err := s.checkCall(); err != nil {
		return control.RestoreResult{}, err
	}
	want, err := s.cfg.Target.Decode(file)
	if err == nil {
		err = s.checkReadable(ctx, want)
	}
	if err != nil {
		return control.RestoreResult{}, err
	}
	return s.beginRestore(ctx, file, want)
}

// checkReadable refuses a state with values that the API server could not read, unless they are stored already.
func (s *Service) checkReadable(ctx context.Context, want snapshot.State) error {
	target := s.cfg.Target
	refused := target.checkReadable(want, snapshot.State{})
	if refused == nil { // as of most snapshots: the stored state need not be read
		return nil
	}
	stored, err := s.readWholeState(ctx)
	if err != nil {
		return errors.Join(refused, err)
	}
	return target.checkReadable(want, stored)
}

// beginRestore restores a state, unless another restore is running.
func (s *Service) beginRestore(ctx context.Context, file []byte, want snapshot.State) (control.RestoreResult, error) {
	if s.cfg.SharedStore {
		return control.RestoreResult{}, usage.Errorf("with --leader-elect other processes act on the same state: stop all of them, and restore one that is started without it")
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		return control.RestoreResult{}, control.ErrRestoreRunning
	}
	s.BeforeChange(ctx)
	if s.closing.Err() != nil {
		return control.RestoreResult{}, errClosing
	}
	return s.restore(ctx, file, want)
}

// IsRestoring reports whether a restore is running.
func (s *Service) IsRestoring() bool { return len(s.turn) > 0 }

// Reset implements control.Snapshots. It restores also what the API server could not read at the start.
func (s *Service) Reset(ctx context.Context) (control.RestoreResult, error) {
	if err := s.checkCall(); err != nil {
		return control.RestoreResult{}, err
	}
	select {
	case <-s.unchanged.Done():
	case <-ctx.Done():
		return control.RestoreResult{}, context.Cause(ctx)
	}
	file, err := s.readStartState(ctx)
	if err != nil {
		return control.RestoreResult{}, fmt.Errorf("reset: the state of the start is unknown: %w", err)
	}
	want, err := s.cfg.Target.Decode(file)
	if err != nil {
		return control.RestoreResult{}, err
	}
	return s.beginRestore(ctx, file, want)
}
