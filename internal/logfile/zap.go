package logfile

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewZapLogger returns a zap logger that passes its entries to log, with the name of
// the component.
func NewZapLogger(log *slog.Logger, component string) *zap.Logger {
	return zap.New(&zapCore{handler: log.Handler()}).Named(component)
}

// zapCore is a zapcore.Core that writes to a slog handler.
type zapCore struct {
	handler   slog.Handler
	keyPrefix string // of all keys: the zap.Namespace fields so far
}

func (c *zapCore) Enabled(level zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), toSlogLevel(level))
}

// toSlogLevel maps debug, info, warn and error to the slog levels of the same name, and
// the levels that panic or exit to one above error.
func toSlogLevel(level zapcore.Level) slog.Level {
	return min(slog.Level(level)*4, slog.LevelError+4)
}

func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	attrs, space := c.attrs(fields)
	return &zapCore{handler: c.handler.WithAttrs(attrs), keyPrefix: space}
}

func (c *zapCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *zapCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, toSlogLevel(e.Level), e.Message, e.Caller.PC)
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

func (c *zapCore) Sync() error { return nil } // nothing is buffered

// attrs returns the fields in their order, and the prefix for later ones. A namespace
// becomes a prefix, not a group, because "component" must stay outside of it.
func (c *zapCore) attrs(fields []zapcore.Field) ([]slog.Attr, string) {
	var attrs []slog.Attr
	space := c.keyPrefix
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
