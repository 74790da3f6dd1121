package snapshotservice

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
)

// beginPartialRestore begins a restore of configMapA that has written only its deletions, and
// ends when its informers are released.
func beginPartialRestore(t *testing.T, target Target) (s *Service, releaseInformers func()) {
	t.Helper()
	store := newFakeStore(configMapA)
	cfg := (&parts{}).config(target, store)
	informers := make(chan struct{})
	writePart := sync.OnceFunc(func() { store.write(stateOf()) })
	cfg.WaitInformers = []func(context.Context, informersync.Revisions) error{func(context.Context, informersync.Revisions) error {
		writePart()
		<-informers
		return nil
	}}
	s, file := newEmptiedService(t, cfg, store)
	go func() {
		if _, err := s.Restore(context.WithoutCancel(t.Context()), file); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return s, func() { close(informers) }
}

// Between its deletions and its puts, a restore has written a state that never was.
func TestSaveDuringARestoreHasTheRestoredState(t *testing.T) {
	target := newTarget(t)
	synctest.Test(t, func(t *testing.T) {
		s, releaseInformers := beginPartialRestore(t, target)
		type result struct {
			file []byte
			err  error
		}
		saved := make(chan result, 1)
		go func() {
			file, err := s.Save(t.Context())
			saved <- result{file, err}
		}()
		synctest.Wait()
		releaseInformers()
		got := <-saved
		if got.err != nil {
			t.Fatal(got.err)
		}
		state, err := target.Decode(got.file)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, e := range state.Entries {
			keys = append(keys, e.Key)
		}
		if diff := cmp.Diff([]string{configMapA}, keys); diff != "" {
			t.Errorf("saved keys (-want +got):\n%s", diff)
		}
	})
}

func TestSaveDuringARestoreIsCanceled(t *testing.T) {
	target := newTarget(t)
	for name, test := range map[string]struct {
		end  func(s *Service, cancelRequest context.CancelFunc)
		want error
	}{
		"by its client":                   {func(_ *Service, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"by the end of the control plane": {func(s *Service, _ context.CancelFunc) { s.cancel() }, errClosing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, releaseInformers := beginPartialRestore(t, target)
				defer releaseInformers()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				saved := make(chan error, 1)
				go func() {
					_, err := s.Save(ctx)
					saved <- err
				}()
				synctest.Wait()
				test.end(s, cancel)
				if err := <-saved; !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}
