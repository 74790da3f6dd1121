package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// Etcd logs a fatal error in a goroutine of the server. That must not end the process,
// and must be reported.
func TestFatalLogEntryEndsTheServer(t *testing.T) {
	tests := map[string]struct {
		say  func(lg *zap.Logger)
		want string
	}{
		"fatal": {
			func(lg *zap.Logger) { lg.Fatal("failed to save\nentries", zap.Error(diskFull[0])) },
			"etcd: failed to save entries: " + diskFull[0].Error() + ": free space on the disk of ",
		},
		"quota": {
			func(lg *zap.Logger) { lg.Fatal("failed", zap.Error(quotaExceeded[0])) },
			"etcd: failed: " + quotaExceeded[0].Error() + ": raise the disk quota of ",
		},
		"file size": {
			func(lg *zap.Logger) { lg.Fatal("failed", zap.Error(syscall.EFBIG)) },
			"etcd: failed: file too large: raise the limit of file sizes of the process (ulimit -f)",
		},
		"files": {
			func(lg *zap.Logger) { lg.Fatal("failed", zap.Int("n", 1), zap.Error(syscall.EMFILE)) },
			"etcd: failed: too many open files: raise the limit of open files",
		},
		"panic": {
			func(lg *zap.Logger) {
				lg.Panic("execute job failed", zap.String("job", "x"), zap.Any("panic", "page 3"))
			},
			"etcd: execute job failed: page 3: see the log; ",
		},
		"child of the logger": {
			func(lg *zap.Logger) { lg.Named("raft").Sugar().Panicf("tocommit(%d) is out of range", 7) },
			"etcd: tocommit(7) is out of range: see the log; ",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := Start(testContext(t), Config{Dir: t.TempDir(), NoSync: true})
			must(t, err)
			returned := make(chan bool, 1)
			go func() {
				ok := false
				defer func() { returned <- ok }()
				tt.say(s.member.etcd.Server.Logger())
				ok = true
			}()
			if <-returned {
				t.Error("etcd continues after a fatal log entry")
			}
			<-s.Done()
			for _, err := range []error{s.Err(), s.Close(), s.Close()} {
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want one line that begins %q", err, tt.want)
				}
			}
		})
	}
}

func TestUnexpectedStopIsReported(t *testing.T) {
	s, err := Start(testContext(t), Config{Dir: t.TempDir(), NoSync: true})
	must(t, err)
	s.member.etcd.Server.HardStop()
	<-s.Done()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "stopped unexpectedly") {
		t.Errorf("Close: %v, want that the member stopped unexpectedly", err)
	}
}

// A fatal error may leave the store locked. Calls end all the same, or the API server
// could not.
func TestCallsEndWithTheServer(t *testing.T) {
	s, err := Start(testContext(t), Config{Dir: t.TempDir(), NoSync: true})
	must(t, err)
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	batch := s.member.etcd.Server.Backend().BatchTx()
	batch.LockOutsideApply() // as the commit that failed does
	failure := errors.New("disk full")
	put := make(chan error, 1)
	go func() {
		_, err := c.Put(context.Background(), "k", "v")
		put <- err
	}()
	s.lifetime.end(failure)
	if err := <-put; err == nil || !strings.Contains(err.Error(), failure.Error()) {
		t.Errorf("a put: %v, want %v", err, failure)
	}
	if _, err := c.Get(context.Background(), "k"); err == nil || !strings.Contains(err.Error(), failure.Error()) {
		t.Errorf("a get after the end: %v, want %v", err, failure)
	}
	if revision, size := s.Size(); revision != 0 || size != 0 {
		t.Errorf("size after the end: %d, %d", revision, size)
	}
	batch.Unlock()
	if err := s.Close(); !errors.Is(err, failure) {
		t.Errorf("Close: %v, want %v", err, failure)
	}
}

// A restore makes the database write before its first write. It ends with the server all the same: a control
// plane that closes waits for it.
func TestRestoresEndWithTheServer(t *testing.T) {
	failure := errors.New("disk full")
	large := snapshot.State{Entries: []snapshot.Entry{{Key: "/configmaps/ns/a", Value: make([]byte, commitBytes)}}}
	testEnds := make(chan struct{})
	defer close(testEnds)
	for how, commit := range map[string]func(){
		"its write of the database fails": runtime.Goexit,
		"another one has failed":          func() { <-testEnds },
	} {
		for what, restore := range map[string]func(*Server) error{
			"space":   func(s *Server) error { return s.CheckSpace(snapshot.State{}, large) },
			"replace": func(s *Server) error { _, err := s.ReplaceState(context.Background(), prefix, large); return err },
		} {
			t.Run(what+" when "+how, func(t *testing.T) {
				s, err := Start(testContext(t), Config{Dir: abandonedDir(t), NoSync: true})
				must(t, err)
				s.member.guard.setCommit(func() { s.lifetime.end(failure); commit() })
				ended := make(chan error, 1)
				go func() {
					defer close(ended)
					ended <- restore(s)
				}()
				select {
				case err := <-ended:
					if !errors.Is(err, failure) {
						t.Errorf("got %v, want %v", err, failure)
					}
				case <-testContext(t).Done():
					t.Error("it has not ended")
				}
				if err := s.Close(); !errors.Is(err, failure) {
					t.Errorf("Close: %v, want %v", err, failure)
				}
			})
		}
	}
}

func (g *spaceGuard) setCommit(commit func()) {
	g.measuring.Lock()
	defer g.measuring.Unlock()
	g.commit = commit
}

func TestAbandonable(t *testing.T) {
	l := newLifetime(t.Context())
	if n, err := abandonable(l, func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("recovered %v, want the panic of the call", r)
			}
		}()
		_, _ = abandonable(l, func() (int, error) { panic("broken") })
	}()
	failure, unlock := errors.New("first"), make(chan struct{})
	defer close(unlock)
	_, err := abandonable(l, func() (int, error) { l.end(failure); <-unlock; return 0, nil })
	if !errors.Is(err, failure) {
		t.Errorf("a call that hangs: %v, want %v", err, failure)
	}
	l = newLifetime(t.Context())
	_, err = abandonable(l, func() (int, error) { l.end(failure); runtime.Goexit(); return 0, nil })
	if !errors.Is(err, failure) {
		t.Errorf("a call that ends its goroutine: %v, want %v", err, failure)
	}
}

func TestFirstFailureWins(t *testing.T) {
	l := newLifetime(t.Context())
	if err := l.failure(); err != nil {
		t.Errorf("failure before the end: %v", err)
	}
	first := errors.New("first")
	l.end(first)
	l.end(errClosed)
	if err := l.failure(); !errors.Is(err, first) {
		t.Errorf("failure = %v, want %v", err, first)
	}
}

// A file of the database that cannot grow is an error without an errno.
func TestAdviceFitsTheCause(t *testing.T) {
	for advice, causes := range map[string][]syscall.Errno{
		"free space on the disk of /d":         diskFull,
		"raise the disk quota of /d":           quotaExceeded,
		"make /d writable":                     notWritable,
		"ulimit -f":                            {syscall.EFBIG},
		"(ulimit -v) to at least 12582912 KiB": {syscall.ENOMEM},

		"/d was removed or renamed while it was in use": {syscall.ENOENT},
	} {
		for _, errno := range causes {
			for _, err := range []error{fmt.Errorf("file resize error: %w", errno), errors.New("file resize error: " + errno.Error())} {
				if got := withAdvice("/d", err).Error(); !strings.Contains(got, advice) {
					t.Errorf("got %q, want it to say %q", got, advice)
				}
			}
		}
	}
	err := errors.New("open: crypto/sha1: use of SHA-1 is not allowed in FIPS 140-only mode")
	if got := withAdvice("/d", err).Error(); !strings.HasSuffix(got, ": use GODEBUG=fips140=on, because etcd and Kubernetes need SHA-1") {
		t.Errorf("got %q", got)
	}
}
