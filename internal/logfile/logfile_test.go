package logfile

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// openLog opens a log file that must close without an error at the end of the test.
func openLog(t *testing.T, cfg Config) *File {
	t.Helper()
	return openLimitedLog(t, cfg, maxBytes, maxFiles)
}

func openLimitedLog(t *testing.T, cfg Config, limit int64, keep int) *File {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "test.log")
	}
	f, err := open(cfg, limit, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// readRecords reads a file of JSON records, without their times.
func readRecords(t *testing.T, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(testutil.ReadFile(t, path)) {
		var r map[string]any
		testutil.DecodeJSON(t, line, &r)
		if _, ok := r["time"].(string); !ok {
			t.Errorf("%q has no time", line)
		}
		delete(r, "time")
		all = append(all, r)
	}
	return all
}

func TestParse(t *testing.T) {
	for name, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "WARN": slog.LevelWarn,
	} {
		if got, err := ParseLevel(name); err != nil || got != want {
			t.Errorf("ParseLevel(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]Format{"text": Text, "json": JSON, "JSON": JSON} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("ParseFormat(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "warning", "trace", "-4"} {
		_, err := ParseLevel(name)
		if err == nil || !strings.Contains(err.Error(), "use debug, info, warn or error") {
			t.Errorf("ParseLevel(%q): error %v does not name the levels", name, err)
		}
	}
	for _, name := range []string{"", "xml"} {
		_, err := ParseFormat(name)
		if err == nil || !strings.Contains(err.Error(), "use text or json") {
			t.Errorf("ParseFormat(%q): error %v does not name the formats", name, err)
		}
	}
}

func TestFormats(t *testing.T) {
	tests := []struct {
		format Format
		want   string // after the time
	}{
		{"", `level=INFO msg="it is so" n=1 g.s="a b"` + "\n"},
		{Text, `level=INFO msg="it is so" n=1 g.s="a b"` + "\n"},
		{JSON, `"level":"INFO","msg":"it is so","n":1,"g":{"s":"a b"}}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.log")
			f := openLog(t, Config{Path: path, Format: tt.format})
			slog.New(f.Handler()).With("n", 1).WithGroup("g").Info("it is so", "s", "a b")
			if got := testutil.ReadFile(t, path); !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %q, want it to end with %q", got, tt.want)
			}
		})
	}
}

func TestLevel(t *testing.T) {
	tests := []struct {
		name      string
		level     slog.Leveler
		verbosity int
		want      []string
	}{
		{"default", nil, 0, []string{"info", "warn", "error"}},
		{"debug", slog.LevelDebug, 0, []string{"debug", "info", "warn", "error"}},
		{"error", slog.LevelError, 0, []string{"error"}},
		{"V(6)", slog.Level(-6), 0, []string{"V(6)", "debug", "info", "warn", "error"}},
		{"verbosity", slog.LevelInfo, 6, []string{"V(6)", "debug", "info", "warn", "error"}},
		{"verbosity below the level", slog.LevelDebug, 2, []string{"debug", "info", "warn", "error"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.log")
			log := slog.New(openLog(t, Config{Path: path, Format: JSON, Level: tt.level, Verbosity: tt.verbosity}).Handler())
			log.Log(t.Context(), -7, "V(7)")
			log.Log(t.Context(), -6, "V(6)")
			log.Debug("debug")
			log.Info("info")
			log.Warn("warn")
			log.Error("error")
			var got []string
			for _, r := range readRecords(t, path) {
				got = append(got, r["msg"].(string))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenAppends(t *testing.T) {
	path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "test.log"), "before\n")
	f := openLog(t, Config{Path: path})
	slog.New(f.Handler()).Info("after")
	got := testutil.ReadFile(t, path)
	if !strings.HasPrefix(got, "before\n") || !strings.Contains(got, "msg=after") {
		t.Errorf("content is %q", got)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode())
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"missing folder", Config{Path: filepath.Join(dir, "no", "test.log")}, "log file: open "},
		{"a folder", Config{Path: dir}, "is not a regular file"},
		{"no path", Config{}, "log file: open : "},
		{"unknown format", Config{Path: filepath.Join(dir, "test.log"), Format: "xml"}, `unknown log format "xml"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Open(tt.cfg)
			if err == nil {
				t.Fatal(f.Close())
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %q, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.log")
	for range 20 {
		f, err := Open(Config{Path: path, Format: JSON})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(f.Handler())
		log.Info("kept")
		for range 2 {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		log.Info("dropped")
	}
	if got := len(readRecords(t, path)); got != 20 {
		t.Errorf("the file has %d records, want 20", got)
	}
}
