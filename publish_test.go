package ctrlplane

import (
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

func TestProgramWord(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	elsewhere := filepath.Join(t.TempDir(), "data")
	for _, test := range []struct{ name, dir, want string }{
		{"default", "", "ctrlplane"},
		{"dev", "", "ctrlplane --name dev"},
		{"default", elsewhere, "ctrlplane --data-dir " + elsewhere},
		{"default", elsewhere + " 2", `ctrlplane --data-dir "` + elsewhere + ` 2"`},
	} {
		path, err := datadir.Path(test.name, test.dir)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := datadir.Open(t.Context(), path, datadir.FormatVersion)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&controlPlane{config: &Server{Name: test.name}, dir: dir}).programWord(); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
	dir, err := datadir.OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if got := (&controlPlane{config: &Server{Name: "run"}, dir: dir}).programWord(); got != "ctrlplane --name run" {
		t.Errorf("ephemeral: %s", got)
	}
}
