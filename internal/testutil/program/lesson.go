package program

import (
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// WriteLesson writes a lesson with the given steps to a file of the name mine.md and
// returns its path.
func WriteLesson(t *testing.T, steps string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.md")
	text := "---\ntitle: Mine\nsummary: A lesson of my own.\n---\n\n" + steps
	testutil.WriteFile(t, file, text)
	return file
}

// RequireLessonCleanedUp checks that a lesson of WriteLesson left nothing behind.
func RequireLessonCleanedUp(t *testing.T, p *ControlPlane) {
	t.Helper()
	client := p.Client(t)
	list, err := client.CoreV1().ConfigMaps("lesson-mine").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%d ConfigMaps are left, %v", len(list.Items), err)
	}
	p.Await(t, "rid of the lesson's namespace", func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "lesson-mine", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	controllers, err := p.Control(t).Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range controllers {
		if c.State == "paused" {
			t.Errorf("%s is still paused", c.Name)
		}
	}
}
