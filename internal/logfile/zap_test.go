package logfile

import (
	"errors"
	"flag"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestZapLogger(t *testing.T) {
	tests := []struct {
		name string
		log  func(*zap.Logger)
		want string // text format, after the time
	}{
		{"level", func(l *zap.Logger) { l.Warn("m") }, `level=WARN msg=m component=etcd`},
		{"debug", func(l *zap.Logger) { l.Debug("m") }, `level=DEBUG msg=m component=etcd`},
		{"what would end the process in development", func(l *zap.Logger) { l.DPanic("m") }, `level=ERROR+4 msg=m component=etcd`},
		{"named", func(l *zap.Logger) { l.Named("raft").Info("m") }, `level=INFO msg=m component=etcd.raft`},
		{
			"order of fields is kept",
			func(l *zap.Logger) {
				l.With(zap.String("z", "1"), zap.Int("a", 2)).Info("m", zap.Bool("y", true), zap.Duration("b", time.Second))
			},
			`level=INFO msg=m z=1 a=2 component=etcd y=true b=1s`,
		},
		{
			"values",
			func(l *zap.Logger) {
				l.Info("m", zap.Error(errors.New("boom")), zap.Skip(), zap.Strings("s", []string{"a", "b"}),
					zap.Stringer("t", slog.LevelInfo), zap.Uint64("u", 1<<63), zap.ByteString("c", []byte("d e")))
			},
			`level=INFO msg=m component=etcd error=boom s="[a b]" t=INFO u=9223372036854775808 c="d e"`,
		},
		{
			"namespace",
			func(l *zap.Logger) { l.With(zap.Namespace("n"), zap.Int("a", 1)).Info("m", zap.Int("b", 2)) },
			`level=INFO msg=m n.a=1 component=etcd n.b=2`,
		},
		{
			"object",
			func(l *zap.Logger) {
				l.Info("m", zap.Object("o", zapcore.ObjectMarshalerFunc(func(e zapcore.ObjectEncoder) error {
					e.AddInt("k", 1)
					return nil
				})))
			},
			`level=INFO msg=m component=etcd o=map[k:1]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.log")
			f := openLog(t, Config{Path: path, Level: slog.LevelDebug})
			tt.log(NewZapLogger(slog.New(f.Handler()), "etcd"))
			_, got, _ := strings.Cut(strings.TrimSuffix(testutil.ReadFile(t, path), "\n"), " ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestZapLevels(t *testing.T) {
	log := NewZapLogger(slog.New(openLog(t, Config{Level: slog.LevelWarn}).Handler()), "")
	for level, want := range map[zapcore.Level]bool{
		zap.DebugLevel: false, zap.InfoLevel: false, zap.WarnLevel: true, zap.ErrorLevel: true, zap.FatalLevel: true,
	} {
		if got := log.Core().Enabled(level); got != want {
			t.Errorf("level %v is enabled: %v, want %v", level, got, want)
		}
	}
}

func TestZapStack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.log")
	f := openLog(t, Config{Path: path, Format: JSON})
	NewZapLogger(slog.New(f.Handler()), "").WithOptions(zap.AddStacktrace(zap.ErrorLevel)).Error("m")
	stack, _ := readRecords(t, path)[0]["stack"].(string)
	if !strings.Contains(stack, "TestZapStack") {
		t.Errorf("stack is %q", stack)
	}
}

// TestKlogHandler changes klog's process-wide settings, which no other test may use.
func TestKlogHandler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.log")
	f := openLog(t, Config{Path: path, Level: slog.LevelDebug})
	restore := klog.CaptureState()
	t.Cleanup(restore.Restore)
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(fs)
	if err := fs.Set("v", "10"); err != nil { // the file's level decides
		t.Fatal(err)
	}
	klog.SetLoggerWithOptions(logr.FromSlogHandler(f.Handler()), klog.ContextualLogger(true))

	klog.Info("old style")
	klog.V(4).InfoS("fine", "key", "a/b")
	klog.V(5).InfoS("too fine")
	log := klog.LoggerWithName(klog.Background(), "job-controller")
	log.V(2).Info("contextual", "key", "c d")
	log.V(5).Info("too fine")
	log.Error(errors.New("boom"), "failed", "pod", klog.KRef("ns", "p"))
	klog.Warning("careful")

	got := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(testutil.ReadFile(t, path), "")
	want := `level=INFO msg="old style"
level=DEBUG msg=fine key=a/b
level=DEBUG+2 msg=contextual logger=job-controller key="c d"
level=ERROR msg=failed logger=job-controller err=boom pod.name=p pod.namespace=ns
level=INFO msg=careful
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
