package controllers

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// lastMessage is the text of the last record that a listener heard. It is how
// upstream says why a controller declines to run: in its log only.
type lastMessage struct{ text atomic.Pointer[string] }

func (l *lastMessage) get() string {
	if t := l.text.Load(); t != nil {
		return *t
	}
	return "declined to run"
}

// listener passes records on and keeps the last one's text.
type listener struct {
	next slog.Handler
	last *lastMessage
}

func (l listener) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || l.next.Enabled(ctx, level)
}

func (l listener) Handle(ctx context.Context, r slog.Record) error {
	l.last.text.Store(&r.Message)
	if !l.next.Enabled(ctx, r.Level) {
		return nil
	}
	return l.next.Handle(ctx, r)
}

func (l listener) WithAttrs(attrs []slog.Attr) slog.Handler {
	return listener{l.next.WithAttrs(attrs), l.last}
}

func (l listener) WithGroup(name string) slog.Handler {
	return listener{l.next.WithGroup(name), l.last}
}
