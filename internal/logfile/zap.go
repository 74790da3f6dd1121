package logfile

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Zap returns a zap logger that hands its entries to log, under the name of a
// component.
func Zap(log *slog.Logger, component string) *zap.Logger {
	return zap.New(&core{handler: log.Handler()}).Named(component)
}

// core is a zapcore.Core on a slog handler.
type core struct {
	handler slog.Handler
	space   string // prefix of the keys: the open zap.Namespace fields
}

func (c *core) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), slogLevel(level))
}

// slogLevel maps debug, info, warn and error to their namesakes, and what ends
// a goroutine or the process to the next above error.
func slogLevel(level zapcore.Level) slog.Level {
	return min(slog.Level(level)*4, slog.LevelError+4)
}

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	attrs, space := c.attrs(fields)
	return &core{handler: c.handler.WithAttrs(attrs), space: space}
}

func (c *core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, slogLevel(e.Level), e.Message, e.Caller.PC)
	if e.LoggerName != "" {
		r.AddAttrs(slog.String("component", e.LoggerName))
	}
	attrs, _ := c.attrs(fields)
	r.AddAttrs(attrs...)
	if e.Stack != "" {
		r.AddAttrs(slog.String("stack", e.Stack))
	}
	return c.handler.Handle(context.Background(), r)
}

func (c *core) Sync() error { return nil } // nothing is buffered

// attrs returns the fields in their order, and the prefix for what follows. A
// namespace becomes a prefix, not a group, so that "component" stays outside.
func (c *core) attrs(fields []zapcore.Field) ([]slog.Attr, string) {
	var attrs []slog.Attr
	space := c.space
	for _, f := range fields {
		if f.Type == zapcore.NamespaceType {
			space += f.Key + "."
			continue
		}
		enc := zapcore.NewMapObjectEncoder()
		f.AddTo(enc) // one field may be several keys: an error and its details
		for _, key := range slices.Sorted(maps.Keys(enc.Fields)) {
			attrs = append(attrs, slog.Any(space+key, enc.Fields[key]))
		}
	}
	return attrs, space
}
