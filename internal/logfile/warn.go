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

// tee passes records of level warn and above to a function too, whole: with
// the attributes and groups of the logger they came from.
type tee struct {
	file   slog.Handler
	onWarn func(slog.Record)
	opened []opened
}

// opened is a group or some attributes that a logger was given, in order.
type opened struct {
	group string // or, if empty,
	attrs []slog.Attr
}

func (t *tee) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || t.file.Enabled(ctx, level)
}

func (t *tee) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		t.onWarn(t.whole(r))
	}
	if !t.file.Enabled(ctx, r.Level) {
		return nil
	}
	return t.file.Handle(ctx, r)
}

func (t *tee) whole(r slog.Record) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, o := range slices.Backward(t.opened) {
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

func (t *tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return t
	}
	return t.with(t.file.WithAttrs(attrs), opened{attrs: attrs})
}

func (t *tee) WithGroup(name string) slog.Handler {
	if name == "" {
		return t
	}
	return t.with(t.file.WithGroup(name), opened{group: name})
}

func (t *tee) with(file slog.Handler, o opened) slog.Handler {
	return &tee{file: file, onWarn: t.onWarn, opened: append(slices.Clip(t.opened), o)}
}

// watched tells, once, when the file cannot be written: slog drops the errors
// of its handlers.
type watched struct {
	out    *rotator
	onWarn func(slog.Record)
	once   sync.Once
}

func (w *watched) Write(p []byte) (int, error) {
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
