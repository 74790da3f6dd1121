package snapshotservice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

func TestServiceRefusesCallsUntilStarted(t *testing.T) {
	s := New((&parts{}).config(newTarget(t), newFakeStore()))
	defer s.Close()
	_, saveErr := s.Save(t.Context())
	_, restoreErr := s.Restore(t.Context(), nil)
	_, resetErr := s.Reset(t.Context())
	for _, err := range []error{saveErr, restoreErr, resetErr} {
		if !errors.Is(err, control.ErrNotReady) {
			t.Errorf("got %v, want %v", err, control.ErrNotReady)
		}
	}
}

func TestRestoreStopsTheOtherPartsInOrder(t *testing.T) {
	p, target, store := &parts{}, newTarget(t), newFakeStore(configMapA)
	s := newStartedService(t, p.config(target, store))
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf(configMapB))
	store.onReplace = func() {
		p.call("write")
		if !s.IsRestoring() {
			t.Error("writes, and is not restoring")
		}
	}
	done, err := s.Restore(t.Context(), file)
	if err != nil || done.Created != 1 || done.Deleted != 1 || done.Revision != 3 {
		t.Errorf("got %+v, %v; want 1 created, 1 deleted, revision 3", done, err)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	want := []string{
		"suspend nodes", "suspend controllers", "block writes", "write", "wait for informers",
		"write", // again, for late writes
		"release writes", "resume controllers", "resume nodes", "report",
	}
	if diff := cmp.Diff(want, p.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(target.pendingPath()); !os.IsNotExist(err) {
		t.Errorf("pending file: %v, want that it was removed", err)
	}
	var changed []string
	for _, c := range p.changed {
		changed = append(changed, fmt.Sprintf("%s %s deleted: %v", c.Key.Object, c.Value, c.Deleted))
	}
	if diff := cmp.Diff([]string{`default/b {"metadata":{"uid":"/configmaps/default/b"}} deleted: true`, `default/a {"metadata":{"uid":"/configmaps/default/a"}} deleted: false`}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// newEmptiedService returns a service with a saved state, whose store has lost its objects since.
func newEmptiedService(t *testing.T, cfg Config, store *fakeStore) (*Service, []byte) {
	t.Helper()
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store.write(stateOf())
	return s, file
}

// A write that was canceled in the store, after the requests in flight had ended, may land
// while the informers are awaited.
func TestRestoreRemovesLateWrites(t *testing.T) {
	store := newFakeStore(configMapA)
	cfg := (&parts{}).config(newTarget(t), store)
	landed := 0
	cfg.WaitInformers = append(cfg.WaitInformers, func(context.Context, informersync.Revisions) error {
		if landed++; landed == 1 {
			store.write(stateOf(configMapA, configMapB))
		}
		return nil
	})
	s, file := newEmptiedService(t, cfg, store)
	if _, err := s.Restore(t.Context(), file); err != nil || landed != 2 {
		t.Errorf("%v; the informers were awaited %d times, want 2", err, landed)
	}
	if diff := cmp.Diff([]string{configMapA}, store.keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// After a restore of many objects the informers take their time: what is behind decides how long
// that is.
func TestRestoreWaitsForInformersAsLongAsTheyNeed(t *testing.T) {
	store := newFakeStore(configMapA)
	cfg := (&parts{}).config(newTarget(t), store)
	var left time.Duration
	cfg.WaitInformers = []func(context.Context, informersync.Revisions) error{func(ctx context.Context, _ informersync.Revisions) error {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil
	}}
	s, file := newEmptiedService(t, cfg, store)
	if _, err := s.Restore(t.Context(), file); err != nil || left < restoreTimeout/2 {
		t.Errorf("%v; the informers have %v", err, left)
	}
}

func TestRestoreRollsBackAfterFailure(t *testing.T) {
	failure := errors.New("no space left")
	for _, tt := range []struct {
		name     string
		failures []error
		want     string
		pending  bool
	}{
		{"the first write fails", []error{failure}, "nothing was restored: no space left", false},
		{"the second write fails", []error{nil, failure}, "nothing was restored: no space left", false},
		{"the rollback fails, too", []error{failure, failure}, "only a part was restored: no space left", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, target, store := &parts{}, newTarget(t), newFakeStore(configMapA)
			s := newStartedService(t, p.config(target, store))
			file, err := s.Save(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store.write(stateOf(configMapB))
			store.fail(tt.failures...)
			if _, err := s.Restore(t.Context(), file); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if diff := cmp.Diff([]string{configMapB}, store.keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(target.pendingPath()); (err == nil) != tt.pending {
				t.Errorf("pending file: %v, want that it exists: %v", err, tt.pending)
			}
			if last := p.calls[len(p.calls)-2]; last != "resume nodes" {
				t.Errorf("calls %q, want that all parts were resumed", p.calls)
			}
		})
	}
}

// Whatever ends a restore, the parts resume: what is suspended cannot be closed.
func TestRestoreThatDoesNotReturnResumesTheOtherParts(t *testing.T) {
	for how, end := range map[string]func(){
		"a panic":               func() { panic("a bug") },
		"a fatal error of etcd": runtime.Goexit,
	} {
		t.Run(how, func(t *testing.T) {
			p, store := &parts{}, newFakeStore(configMapA)
			s, file := newEmptiedService(t, p.config(newTarget(t), store), store)
			store.onReplace = end
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				_, err := s.Restore(t.Context(), file)
				t.Errorf("Restore returned %v", err)
			}()
			<-ended
			want := []string{"suspend nodes", "suspend controllers", "block writes", "release writes", "resume controllers", "resume nodes"}
			if diff := cmp.Diff(want, p.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Writes that were blocked go on if the restore has changed nothing.
func TestFailedRestoreRefusesNoWrites(t *testing.T) {
	p, target, store := &parts{}, newTarget(t), newFakeStore(configMapA)
	s := newStartedService(t, p.config(target, store))
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(target.pendingPath(), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), file); err == nil || !strings.HasPrefix(err.Error(), "nothing was restored") {
		t.Errorf("got %v", err)
	}
	if !slices.Contains(p.calls, "let writes go on") {
		t.Errorf("calls %q", p.calls)
	}
}

func TestDescribeRestore(t *testing.T) {
	done := func(created int) control.RestoreResult {
		return control.RestoreResult{ObjectCounts: control.ObjectCounts{Created: created}, Took: 42 * time.Millisecond}
	}
	for want, got := range map[string]string{
		"a snapshot was restored: 1 object changed, controllers restarted after 42 ms":       describeRestore(done(1), nil),
		"a snapshot was restored: 2 objects changed, controllers restarted after 42 ms":      describeRestore(done(2), nil),
		"a snapshot could not be restored, controllers restarted after 42 ms: no space left": describeRestore(done(0), errors.New("no space left")),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRestoreRefusals(t *testing.T) {
	p, store := &parts{}, newFakeStore(configMapA)
	cfg := p.config(newTarget(t), store)
	s := newStartedService(t, cfg)
	file, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), []byte("other")); err == nil || !strings.Contains(err.Error(), "the snapshot is refused: it is not a snapshot") {
		t.Errorf("other file: got %v", err)
	}
	s.turn <- struct{}{}
	if _, err := s.Restore(t.Context(), file); !errors.Is(err, control.ErrRestoreRunning) {
		t.Errorf("second restore: got %v, want %v", err, control.ErrRestoreRunning)
	}
	<-s.turn
	cfg.SharedStore = true
	if _, err := newStartedService(t, cfg).Restore(t.Context(), file); err == nil || !strings.Contains(err.Error(), "--leader-elect") {
		t.Errorf("shared store: got %v", err)
	}
	cfg.Refused = errors.New("incomplete")
	refused := newStartedService(t, cfg)
	_, saveErr := refused.Save(t.Context())
	_, restoreErr := refused.Restore(t.Context(), file)
	_, resetErr := refused.Reset(t.Context())
	for _, err := range []error{saveErr, restoreErr, resetErr} {
		if !errors.Is(err, cfg.Refused) {
			t.Errorf("got %v, want %v", err, cfg.Refused)
		}
	}
	if len(p.calls) > 0 {
		t.Errorf("calls %q, want none", p.calls)
	}
}

// An external etcd that is gone when a restore asks which revision Reset returns to does not
// hold up a control plane that closes.
func TestCloseCutsOffARestoreBeforeItBegins(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store, p := newFakeStore(configMapA), &parts{}
		cfg := p.config(target, store)
		cfg.WaitSettled = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		s := newStartedService(t, cfg)
		file, err := s.Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // its start revision is read
		restored := restoreWithoutStore(t, s, store, file)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-restored; !errors.Is(err, errClosing) {
			t.Errorf("got %v, want %v", err, errClosing)
		}
		if len(p.calls) > 0 {
			t.Errorf("calls %q, want none", p.calls)
		}
	})
}

// The same of an etcd that is gone while the restore writes: what was acknowledged is in the
// pending file.
func TestCloseCutsOffARestore(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		store, p := newFakeStore(configMapA), &parts{}
		s := newStartedService(t, p.config(target, store))
		file, err := s.Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // its start revision is read
		restored := restoreWithoutStore(t, s, store, file)
		began := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != closeGrace {
			t.Errorf("Close took %v, want %v", took, closeGrace)
		}
		if err := <-restored; !errors.Is(err, errClosing) || !strings.Contains(err.Error(), "the next start restores the rest") {
			t.Errorf("got %v", err)
		}
		if !target.HasPending() {
			t.Error("the next start would not finish the restore")
		}
		// What would write now would keep the next start from restoring the rest.
		want := []string{"suspend nodes", "suspend controllers", "block writes", "abandon controllers", "abandon nodes"}
		if diff := cmp.Diff(want, p.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if _, err := s.Restore(t.Context(), file); !errors.Is(err, errClosing) {
			t.Errorf("a restore after Close: %v", err)
		}
	})
}

// A restore that ends while the control plane closes has succeeded, but resumes nothing: the
// controllers would wait for an API server that answers no requests.
func TestRestoreResumesNothingOnceTheControlPlaneCloses(t *testing.T) {
	store, p := newFakeStore(configMapA), &parts{}
	cfg := p.config(newTarget(t), store)
	var s *Service
	closed := make(chan error, 1)
	cfg.WaitInformers = append(cfg.WaitInformers, func(context.Context, informersync.Revisions) error {
		go func() { closed <- s.Close() }()
		<-s.closing.Done()
		return nil
	})
	var file []byte
	s, file = newEmptiedService(t, cfg, store)
	if done, err := s.Restore(t.Context(), file); err != nil || done.Created != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	want := []string{"suspend nodes", "suspend controllers", "block writes", "write", "wait for informers", "write", "release writes", "abandon controllers", "abandon nodes"}
	if diff := cmp.Diff(want, p.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// restoreWithoutStore begins a restore whose store does not answer, and returns where its error
// will be.
func restoreWithoutStore(t *testing.T, s *Service, store *fakeStore, file []byte) <-chan error {
	t.Helper()
	store.gone = true
	restored := make(chan error, 1)
	go func() {
		_, err := s.Restore(t.Context(), file)
		restored <- err
	}()
	synctest.Wait()
	return restored
}
