package etcd

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
)

// Etcd logs a fatal error in a goroutine of the server. That must not end the process,
// and must be reported.
func TestFatalLogEntryEndsTheServer(t *testing.T) {
	tests := map[string]struct {
		say  func(lg *zap.Logger)
		want string
	}{
		"fatal": {
			func(lg *zap.Logger) { lg.Fatal("failed to save\nentries", zap.Error(syscall.ENOSPC)) },
			"etcd: failed to save entries: no space left on device: free space on the disk of ",
		},
		"quota": {
			func(lg *zap.Logger) { lg.Fatal("failed", zap.Error(syscall.EDQUOT)) },
			"etcd: failed: disk quota exceeded: raise the disk quota of ",
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
