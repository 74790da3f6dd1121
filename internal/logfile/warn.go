package logfile

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// warnTee also passes records of level warn and above to a function, with the
// attributes and groups of their logger.
type warnTee struct {
	file   slog.Handler
	onWarn func(slog.Record)
	scopes []logScope
}

// logScope is one group, or some attributes, that were added to a logger.
type logScope struct {
	group string // empty = attrs are set
	attrs []slog.Attr
}

func (t *warnTee) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || t.file.Enabled(ctx, level)
}

func (t *warnTee) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		t.onWarn(t.fullRecord(r))
	}
	if !t.file.Enabled(ctx, r.Level) {
		return nil
	}
	return t.file.Handle(ctx, r)
}

func (t *warnTee) fullRecord(r slog.Record) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, o := range slices.Backward(t.scopes) {
		if o.group == "" {
			attrs = slices.Concat(o.attrs, attrs)
		} else {
			attrs = []slog.Attr{slog.GroupAttrs(o.group, attrs...)}
		}
	}
	w := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	w.AddAttrs(attrs...)
	return w
}

func (t *warnTee) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return t
	}
	return t.withScope(t.file.WithAttrs(attrs), logScope{attrs: attrs})
}

func (t *warnTee) WithGroup(name string) slog.Handler {
	if name == "" {
		return t
	}
	return t.withScope(t.file.WithGroup(name), logScope{group: name})
}

func (t *warnTee) withScope(file slog.Handler, o logScope) slog.Handler {
	return &warnTee{file: file, onWarn: t.onWarn, scopes: append(slices.Clip(t.scopes), o)}
}

// failureNotifier reports once when the file cannot be written, because slog drops the
// errors of its handlers.
type failureNotifier struct {
	out    *rotator
	onWarn func(slog.Record)
	once   sync.Once
}

func (w *failureNotifier) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		w.once.Do(func() {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "the log file cannot be written", 0)
			r.AddAttrs(slog.String("path", w.out.path), slog.Any("err", err))
			w.onWarn(r)
		})
	}
	return n, err
}
