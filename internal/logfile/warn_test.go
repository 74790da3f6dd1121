package logfile

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestOnWarn(t *testing.T) {
	tests := []struct {
		name string
		log  func(*slog.Logger)
		want []map[string]any // records that OnWarn receives
		file int              // how many records are written
	}{
		{
			name: "levels",
			log: func(l *slog.Logger) {
				l.Debug("d")
				l.Info("i")
				l.Warn("w")
				l.Error("e", "err", "boom")
			},
			want: []map[string]any{
				{"level": "WARN", "msg": "w"},
				{"level": "ERROR", "msg": "e", "err": "boom"},
			},
			file: 1,
		},
		{
			name: "the logger's attributes come first",
			log:  func(l *slog.Logger) { l.With("component", "etcd").With().Warn("w", "n", 1) },
			want: []map[string]any{{"level": "WARN", "msg": "w", "component": "etcd", "n": 1.0}},
		},
		{
			name: "groups",
			log: func(l *slog.Logger) {
				l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("").WithGroup("h").Warn("w", "c", 3)
			},
			want: []map[string]any{{
				"level": "WARN", "msg": "w", "a": 1.0,
				"g": map[string]any{"b": 2.0, "h": map[string]any{"c": 3.0}},
			}},
		},
		{
			name: "brothers do not share attributes",
			log: func(l *slog.Logger) {
				parent := l.With("a", 1).With("b", 2).With("c", 3)
				one, two := parent.With("d", 1), parent.With("d", 2)
				one.Warn("w")
				two.Warn("w")
			},
			want: []map[string]any{
				{"level": "WARN", "msg": "w", "a": 1.0, "b": 2.0, "c": 3.0, "d": 1.0},
				{"level": "WARN", "msg": "w", "a": 1.0, "b": 2.0, "c": 3.0, "d": 2.0},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []map[string]any
			path := filepath.Join(t.TempDir(), "test.log")
			f := openLog(t, Config{Path: path, Format: JSON, Level: slog.LevelError, OnWarn: func(r slog.Record) {
				got = append(got, decodeRecord(t, r))
			}})
			tt.log(slog.New(f.Handler()))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("OnWarn (-want +got):\n%s", diff)
			}
			if got := len(readRecords(t, path)); got != tt.file {
				t.Errorf("the file has %d records, want %d", got, tt.file)
			}
		})
	}
}

// TestOnWarnDoesNotChangeFile compares the files of loggers with and without OnWarn.
func TestOnWarnDoesNotChangeFile(t *testing.T) {
	content := func(onWarn func(slog.Record)) []map[string]any {
		path := filepath.Join(t.TempDir(), "test.log")
		f := openLog(t, Config{Path: path, Format: JSON, OnWarn: onWarn})
		slog.New(f.Handler()).With("a", 1).WithGroup("g").Warn("w", "b", 2)
		return readRecords(t, path)
	}
	if diff := cmp.Diff(content(nil), content(func(slog.Record) {})); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}

func decodeRecord(t *testing.T, r slog.Record) map[string]any {
	t.Helper()
	var buf bytes.Buffer
	if err := slog.NewJSONHandler(&buf, nil).Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	testutil.DecodeJSON(t, buf.Bytes(), &m)
	delete(m, "time")
	return m
}
