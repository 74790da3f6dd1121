// Package logfile writes the log of every component to one file: slog records,
// and, through bridges, what etcd logs with zap. klog and other users of logr
// reach it by logr.FromSlogHandler, whose V(n) is slog level -n.
//
// The keys of a record are "time", "level" and "msg", then "component" (the
// name of a zap logger) or "logger" (of a logr one), then the record's own.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Format is how a record is written.
type Format string

// The formats: key=value pairs, or an object, on a line of its own.
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

// Config says where the log goes and how much of it.
type Config struct {
	// Path is the file, in a folder that exists. It is made with mode 0600, and
	// continued if it is there.
	Path string
	// Level is the lowest level that is written; nil = info.
	Level slog.Leveler
	// Verbosity is klog's: what Kubernetes logs at V(n), which is slog level -n, is
	// written for n up to this one.
	Verbosity int
	// Format is Text or JSON; empty = Text.
	Format Format
	// MaxBytes is the size at which the file is set aside as Path.1 and a new one
	// begun; zero = 16 MiB.
	MaxBytes int64
	// MaxFiles is how many files are kept besides the current one; zero = 3.
	MaxFiles int
	// OnWarn is given each record of level warn and above, whatever Level is, and
	// one that tells when the file can no longer be written; nil = nobody. It is
	// called from the goroutine that logs, from several at a time, and must not log.
	OnWarn func(slog.Record)
}

// File is an open log file. Its handler may be used by any number of
// goroutines; what is logged after Close is dropped.
type File struct {
	out     *rotator
	handler slog.Handler
}

// Open opens the log file for appending. Close ends it.
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
	opts := &slog.HandlerOptions{Level: min(level, slog.Level(-cfg.Verbosity))}
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

// Handler returns what writes to the file.
func (f *File) Handler() slog.Handler { return f.handler }

// Close closes the file and returns the first error that a write met. It is
// idempotent.
func (f *File) Close() error {
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	return nil
}
