package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// errClosed is the end of a server that was closed as asked.
var errClosed = errors.New("closed")

// lifetime is how long a server lives: it ends once, for the first reason given.
type lifetime struct {
	context.Context
	end context.CancelCauseFunc
}

// newLifetime outlives ctx, which bounds a start only.
func newLifetime(ctx context.Context) *lifetime {
	c, end := context.WithCancelCause(context.WithoutCancel(ctx))
	return &lifetime{Context: c, end: end}
}

// failure returns why the life ended, or nil if it did not or was meant to.
func (l *lifetime) failure() error {
	if err := context.Cause(l); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// guardLogger returns lg with its two deadly levels tamed: instead of ending the
// process or panicking, they end the life and the goroutine that logs.
func (l *lifetime) guardLogger(lg *zap.Logger, dir string) *zap.Logger {
	h := fatalHook{l, dir}
	return lg.WithOptions(zap.WithFatalHook(h), zap.WithPanicHook(h))
}

type fatalHook struct {
	lifetime *lifetime
	dir      string
}

// OnWrite never returns, as what etcd does after Fatal relies on that: it would
// acknowledge a write that was not saved.
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

// withAdvice makes one line of err and adds what to do about it.
func withAdvice(dir string, err error) error {
	advice := "see the log; if it happens again, restore " + dir + " from a backup or remove it to start empty"
	switch {
	case errors.Is(err, syscall.ENOSPC):
		advice = "free space on the disk of " + dir + " and start again"
	case errors.Is(err, syscall.EDQUOT):
		advice = "raise the disk quota for " + dir + " and start again"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		advice = "make " + dir + " writable and start again"
	case errors.Is(err, syscall.ENOTDIR):
		advice = "name another data folder"
	case errors.Is(err, syscall.ENOMEM):
		advice = "free memory or raise the memory limit of the process (ulimit -v) and start again; the data is not damaged"
	case errors.Is(err, syscall.EMFILE):
		advice = "raise the limit of open files (ulimit -n) and start again"
	}
	return &adviceError{err: err, advice: advice}
}

// adviceError is an error with what to do about it, as one line.
type adviceError struct {
	err    error
	advice string
}

func (e *adviceError) Error() string {
	return strings.Join(strings.Fields(e.err.Error()), " ") + "; " + e.advice
}

func (e *adviceError) Unwrap() error { return e.err }
