// Package logfile writes the log of all components to one file. It is a handler for
// slog, and NewZapLogger adapts it to etcd's zap. klog and other users of logr write to
// it through logr.FromSlogHandler, whose V(n) is slog level -n.
//
// The keys of a record are "time", "level" and "msg", then "component" (the name of a
// zap logger) or "logger" (the name of a logr logger), then the record's own.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Format is the encoding of a record.
type Format string

// Each record is one line of key=value pairs, or one JSON object.
const (
	Text Format = "text"
	JSON Format = "json"
)

// ParseFormat reads the name of a format: text or json.
func ParseFormat(name string) (Format, error) {
	switch f := Format(strings.ToLower(name)); f {
	case Text, JSON:
		return f, nil
	}
	return "", fmt.Errorf("unknown log format %q: use text or json", name)
}

// ParseLevel reads the name of a level: debug, info, warn or error.
func ParseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("unknown log level %q: use debug, info, warn or error", name)
}

// Config configures a log file.
type Config struct {
	// Path is the file, in an existing folder. It is created with mode 0600; an
	// existing file is appended to.
	Path string
	// Level is the lowest level that is written; nil = info.
	Level slog.Leveler
	// Verbosity is klog's: records that Kubernetes logs at V(n), which is slog level -n,
	// are written for n up to this one, whatever Level is; 0 = Level alone decides.
	Verbosity int
	// Format is Text or JSON; empty = Text.
	Format Format
	// MaxBytes is the size at which the file is renamed to Path.1 and a new one is
	// created; 0 = 16 MiB.
	MaxBytes int64
	// MaxFiles is how many renamed files are kept; 0 = 3.
	MaxFiles int
	// OnWarn is called with each record of level warn and above, whatever Level is, and
	// once when the file can no longer be written; nil = not called. It is called by the
	// goroutine that logs, possibly by several at a time, and must not log.
	OnWarn func(slog.Record)
}

// File is an open log file. Any number of goroutines may use its handler; records
// logged after Close are dropped.
type File struct {
	out     *rotator
	handler slog.Handler
}

// Open opens the log file for appending.
func Open(cfg Config) (*File, error) {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 16 << 20
	}
	if cfg.MaxFiles <= 0 {
		cfg.MaxFiles = 3
	}
	out, err := openRotator(cfg.Path, cfg.MaxBytes, cfg.MaxFiles)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	handler, err := newHandler(cfg, out)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &File{out: out, handler: handler}, nil
}

func newHandler(cfg Config, out *rotator) (slog.Handler, error) {
	var w io.Writer = out
	if cfg.OnWarn != nil {
		w = &failureNotifier{out: out, onWarn: cfg.OnWarn}
	}
	level := slog.LevelInfo
	if cfg.Level != nil {
		level = cfg.Level.Level()
	}
	if cfg.Verbosity > 0 {
		level = min(level, slog.Level(-cfg.Verbosity))
	}
	opts := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch cfg.Format {
	case "", Text:
		handler = slog.NewTextHandler(w, opts)
	case JSON:
		handler = slog.NewJSONHandler(w, opts)
	default:
		_, err := ParseFormat(string(cfg.Format))
		return nil, err
	}
	if cfg.OnWarn != nil {
		handler = &warnTee{file: handler, onWarn: cfg.OnWarn}
	}
	return handler, nil
}

// Handler returns the handler that writes to the file.
func (f *File) Handler() slog.Handler { return f.handler }

// Close closes the file and returns the first error of a write. It is idempotent.
func (f *File) Close() error {
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	return nil
}
