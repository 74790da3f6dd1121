package ui

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDetect(t *testing.T) {
	type result struct{ Live, Color, ASCII bool }
	tests := []struct {
		name     string
		terminal bool
		goos     string
		environ  []string
		want     result
	}{
		{"terminal", true, "linux", []string{"TERM=xterm-256color", "LANG=en_GB.UTF-8"}, result{Live: true, Color: true}},
		{"NO_COLOR", true, "linux", []string{"TERM=xterm", "LANG=C.utf8", "NO_COLOR=1"}, result{Live: true}},
		{"NO_COLOR with any value", true, "linux", []string{"TERM=xterm", "LANG=C.utf8", "NO_COLOR=false"}, result{Live: true}},
		{"empty NO_COLOR", true, "linux", []string{"TERM=xterm", "LANG=C.utf8", "NO_COLOR="}, result{Live: true, Color: true}},
		{"dumb", true, "linux", []string{"TERM=dumb", "LANG=C.UTF-8"}, result{}},
		{"file", false, "linux", []string{"TERM=xterm", "LANG=C.UTF-8"}, result{}},
		{"file with forced colours", false, "linux", []string{"TERM=xterm", "LANG=C.UTF-8", "CLICOLOR_FORCE=1"}, result{Color: true}},
		{"no locale", true, "linux", []string{"TERM=xterm"}, result{Live: true, Color: true, ASCII: true}},
		{"no locale on a Mac", true, "darwin", []string{"TERM=xterm"}, result{Live: true, Color: true}},
		{"LC_ALL wins", true, "linux", []string{"TERM=xterm", "LC_ALL=C", "LANG=en_GB.UTF-8"}, result{Live: true, Color: true, ASCII: true}},
		{"old console", true, "windows", []string{"TERM=xterm"}, result{Live: true, Color: true, ASCII: true}},
		{"Windows Terminal", true, "windows", []string{"TERM=xterm", "WT_SESSION=1"}, result{Live: true, Color: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := modeFor(tt.terminal, tt.goos, tt.environ)
			if got := (result{m.Live, m.Color, m.ASCII}); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestDetectFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if m := Detect(f, []string{"TERM=xterm", "LANG=C.UTF-8"}); m.Live || m.Color || m.Columns() != 0 {
		t.Errorf("mode of a file is %+v, want a plain one", m)
	}
}

func fixedWidth(n int) func() int { return func() int { return n } }
