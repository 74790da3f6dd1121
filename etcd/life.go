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

// life is how long a server lives: it ends once, for the first reason given.
type life struct {
	context.Context
	end context.CancelCauseFunc
}

// newLife outlives ctx, which bounds a start only.
func newLife(ctx context.Context) *life {
	c, end := context.WithCancelCause(context.WithoutCancel(ctx))
	return &life{Context: c, end: end}
}

// fault returns why the life ended, or nil if it did not or was meant to.
func (l *life) fault() error {
	if err := context.Cause(l); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// logger returns lg with its two deadly levels tamed: instead of ending the
// process or panicking, they end the life and the goroutine that logs.
func (l *life) logger(lg *zap.Logger, dir string) *zap.Logger {
	h := lastWords{l, dir}
	return lg.WithOptions(zap.WithFatalHook(h), zap.WithPanicHook(h))
}

type lastWords struct {
	life *life
	dir  string
}

// OnWrite never returns, as what etcd does after Fatal relies on that: it would
// acknowledge a write that was not saved.
func (h lastWords) OnWrite(ce *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.life.end(explain(h.dir, fatalError(ce.Message, fields)))
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

// explain makes one line of err and adds what to do about it.
func explain(dir string, err error) error {
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
