package command_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testLearnWithoutFolder runs a lesson with a folder that cannot be created.
func testLearnWithoutFolder(t *testing.T, p *program.ControlPlane) {
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), "")
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", program.WriteLesson(t, twoSteps), "--dir", filepath.Join(file, "below"))
	program.RequireFailure(t, cmd, 1, file)
	requireNoLesson(t, p, cmd.Dir)
}

// testLearnInterruptedEarly interrupts a lesson that waits for the service account of its namespace.
func testLearnInterruptedEarly(t *testing.T, p *program.ControlPlane) {
	if _, err := p.Control(t).Interventions().Pause(t.Context(), []string{"serviceaccount-controller"}); err != nil {
		t.Fatal(err)
	}
	cmd := program.Command(t, "--data-dir", p.Dir, "learn", "--auto", program.WriteLesson(t, twoSteps))
	lesson := program.Start(t, cmd, p.Dir)
	lesson.Await(t, "in its namespace", func() bool {
		_, err := p.Client(t).CoreV1().Namespaces().Get(t.Context(), "lesson-mine", metav1.GetOptions{})
		return err == nil
	})
	lesson.Stop(t, syscall.SIGINT)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(lesson.Stderr.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, lesson.Stderr)
	}
	if _, err := p.Control(t).Interventions().Resume(t.Context(), []string{"serviceaccount-controller"}); err != nil {
		t.Fatal(err)
	}
	requireNoLesson(t, p, cmd.Dir)
}

// requireNoLesson checks that a lesson has left neither objects nor folders behind.
func requireNoLesson(t *testing.T, p *program.ControlPlane, home string) {
	t.Helper()
	program.RequireLessonCleanedUp(t, p)
	if left, err := filepath.Glob(filepath.Join(home, "ctrlplane-learn-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
