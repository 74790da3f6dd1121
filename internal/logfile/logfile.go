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
	// existing file is appended to. At 16 MiB it is renamed to Path.1, and so on to Path.3.
	Path string
	// Level is the lowest level that is written; nil = info.
	Level slog.Leveler
	// Verbosity is klog's: records that Kubernetes logs at V(n), which is slog level -n,
	// are written for n up to this one, whatever Level is; 0 = Level alone decides.
	Verbosity int
	// Format is Text or JSON; empty = Text.
	Format Format
}

// File is an open log file. Any number of goroutines may use its handler; records
// logged after Close are dropped.
type File struct {
	out     *rotator
	handler slog.Handler
}

const (
	maxBytes = 16 << 20 // of a file, which is then renamed to Path.1
	maxFiles = 3        // that were renamed
)

// Open opens the log file for appending.
func Open(cfg Config) (*File, error) {
	return open(cfg, maxBytes, maxFiles)
}

func open(cfg Config, limit int64, keep int) (*File, error) {
	out, err := openRotator(cfg.Path, limit, keep)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	handler, err := newHandler(cfg, out)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &File{out: out, handler: handler}, nil
}

func newHandler(cfg Config, out io.Writer) (slog.Handler, error) {
	level := slog.LevelInfo
	if cfg.Level != nil {
		level = cfg.Level.Level()
	}
	if cfg.Verbosity > 0 {
		level = min(level, slog.Level(-cfg.Verbosity))
	}
	opts := &slog.HandlerOptions{Level: level}
	switch cfg.Format {
	case "", Text:
		return slog.NewTextHandler(out, opts), nil
	case JSON:
		return slog.NewJSONHandler(out, opts), nil
	}
	_, err := ParseFormat(string(cfg.Format))
	return nil, err
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
