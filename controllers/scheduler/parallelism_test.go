package scheduler

import (
	"log/slog"
	goruntime "runtime"
	"testing"
)

// The default follows the processors; a configuration file decides for itself.
func TestParallelism(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(3))
	for _, tt := range []struct {
		name, file string
		want       int32
	}{
		{"by default", "", 3},
		{"a file without it", configHeader, 16},
		{"a file with it", configHeader + "parallelism: 5\n", 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Logger: slog.New(slog.DiscardHandler)}
			if tt.file != "" {
				cfg.ConfigFile = writeConfigFile(t, tt.file)
			}
			component, _, err := cfg.componentConfig()
			if err != nil {
				t.Fatal(err)
			}
			if component.Parallelism != tt.want {
				t.Errorf("got %d, want %d", component.Parallelism, tt.want)
			}
		})
	}
}
