package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
)

// errClosed is the reason for the end of a server that was closed by Close.
var errClosed = errors.New("closed")

// lifetime is the lifetime of a server. It ends once, for the first reason given.
type lifetime struct {
	context.Context
	end     context.CancelCauseFunc
	calls   callPool
	closing atomic.Bool // Close has been called
}

// newLifetime returns a lifetime that does not end with ctx, which limits a start only.
func newLifetime(ctx context.Context) *lifetime {
	c, end := context.WithCancelCause(context.WithoutCancel(ctx))
	return &lifetime{Context: c, end: end}
}

// failure returns why the lifetime ended; nil if it has not, and after Close.
func (l *lifetime) failure() error {
	if err := context.Cause(l); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// guardLogger returns lg with other effects of its levels Fatal and Panic: they end the
// lifetime and the goroutine that logs, not the process.
func (l *lifetime) guardLogger(lg *zap.Logger, dir string) *zap.Logger {
	h := fatalHook{l, dir}
	return lg.WithOptions(zap.WithFatalHook(h), zap.WithPanicHook(h))
}

type fatalHook struct {
	lifetime *lifetime
	dir      string
}

// OnWrite never returns. The code that follows a Fatal relies on that: otherwise etcd
// would acknowledge a write that it has not saved.
func (h fatalHook) OnWrite(ce *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.lifetime.end(withAdvice(h.dir, fatalError(ce.Message, fields)))
	runtime.Goexit()
}

func fatalError(msg string, fields []zapcore.Field) error {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return fmt.Errorf("%s: %w", msg, err)
		}
		if f.Key == "panic" && f.Type == zapcore.StringType {
			return fmt.Errorf("%s: %s", msg, f.String)
		}
	}
	return errors.New(msg)
}

// recoverAdvice returns what to do about a damaged data folder.
func recoverAdvice(dir string) string {
	return "copy " + dir + " back from a backup, or use another data folder to start empty"
}

// minAddressSpace is enough for a process: etcd maps 1.1 times the quota of the database, and the
// rest is the program and its heap.
const minAddressSpace = 3<<30 + defaultQuotaBytes/8*9

// withAdvice adds what to do about err.
func withAdvice(dir string, err error) error {
	advice := "see the log; if it happens again, " + recoverAdvice(dir)
	switch {
	case causedBy(err, diskFull...):
		advice = "free space on the disk of " + dir + " and start again"
	case causedBy(err, quotaExceeded...):
		advice = "raise the disk quota of " + dir + " and start again"
	case causedBy(err, syscall.EFBIG):
		advice = "raise the limit of file sizes of the process (ulimit -f) and start again; the data is not damaged"
	case causedBy(err, notWritable...):
		advice = "make " + dir + " writable and start again"
	case causedBy(err, syscall.ENOENT) && !exists(dir):
		advice = dir + " was removed or renamed while it was in use"
	case strings.Contains(err.Error(), "FIPS 140-only mode"):
		advice = "use GODEBUG=fips140=on, because etcd and Kubernetes need SHA-1"
	case causedBy(err, syscall.ENOTDIR):
		advice = "use another data folder"
	case causedBy(err, syscall.ENOMEM):
		advice = fmt.Sprintf("free memory, or raise the limit of the address space of the process (ulimit -v) to at least %d KiB, and start again; the data is not damaged", minAddressSpace>>10)
	case causedBy(err, syscall.EMFILE):
		advice = "raise the limit of open files (ulimit -n) and start again"
	}
	return &adviceError{err: err, advice: advice}
}

func exists(dir string) bool {
	_, err := os.Stat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// causedBy reports whether err says that its cause is one of these: bbolt keeps only the text when
// a file cannot grow.
func causedBy(err error, causes ...syscall.Errno) bool {
	return slices.ContainsFunc(causes, func(cause syscall.Errno) bool {
		return errors.Is(err, cause) || strings.HasSuffix(err.Error(), ": "+cause.Error())
	})
}

// adviceError is an error with what to do about it. Its text is one line.
type adviceError struct {
	err    error
	advice string
}

func (e *adviceError) Error() string {
	return oneline.Error(e.err).Error() + ": " + e.advice
}

func (e *adviceError) Unwrap() error { return e.err }
