package learn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestCheckShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	want := "lessons need the shell sh, which is not in PATH: " + shellHint
	if err := CheckShell(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestShimsSelectTheLesson runs them in the lesson's shell, and in one that has read its file env.
func TestShimsSelectTheLesson(t *testing.T) {
	if CheckShell() != nil {
		t.Skip("PATH has no sh")
	}
	dir := filepath.Join(t.TempDir(), "it's a folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '<%s>' \"$MSYS_NO_PATHCONV\" \"$MSYS2_ARG_CONV_EXCL\" \"$CTRLPLANE_LESSON_NAMESPACE:$CTRLPLANE_LESSON_DATA_DIR\" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := newShell(dir, dir, "lesson-1", &rest.Config{Host: "https://127.0.0.1:1"}, program, []string{"--data-dir", "a b"})
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	other.env = os.Environ()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	for line, want := range map[string]string{
		`kubectl get pods -o "name"`:       "<lesson-1:a b><--data-dir><a b><kubectl><--kubeconfig><" + kubeconfig + "><get><pods><-o><name>",
		"ctrlplane why $NS":                "<lesson-1:a b><--data-dir><a b><why><-n><lesson-1><lesson-1>",
		"ctrlplane top --metrics http://x": "<:><top><--metrics><http://x>",
	} {
		for shell, line := range map[*shell]string{s: line, &other: envCommand(filepath.Join(dir, envFile)) + "; " + line} {
			got, err := shell.commandOutput(t.Context(), line)
			if want := "<1><*>" + want; err != nil || strings.TrimSpace(got.text) != want {
				t.Errorf("%s: got  %+v, %v\nwant %s", line, got, err, want)
			}
		}
	}
}

// Tables fit the terminal on which a lesson shows them, although the command writes to a pipe.
func TestCommandsKnowTheColumns(t *testing.T) {
	if CheckShell() != nil {
		t.Skip("PATH has no sh")
	}
	t.Setenv("COLUMNS", "")
	for columns, want := range map[int]string{0: "", 92: "92"} {
		var out strings.Builder
		s := &shell{dir: t.TempDir(), env: os.Environ(), columns: func() int { return columns }}
		if _, err := s.run(t.Context(), `printf %s "$COLUMNS"`, &out); err != nil || out.String() != want {
			t.Errorf("%d columns: %q, %v", columns, &out, err)
		}
	}
}
