package learn

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

// A namespace that a killed lesson has left behind is not that of a later process with its ID.
func TestCheckLeftBehind(t *testing.T) {
	other := strconv.Itoa(os.Getppid()) // a process that exists and is not this one
	stamp, err := datadir.ProcessStamp(os.Getppid())
	if err != nil {
		t.Skip(err)
	}
	const running = "process %s is running this lesson in namespace lesson-1: stop it first, or use another control plane with --name; if that process runs no lesson, delete the namespace"
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"no lesson":       {nil, "namespace lesson-1 exists, and was not created by a lesson: delete it first"},
		"this process":    {learnerAnnotations(), ""},
		"another process": {map[string]string{processAnnotation: other, stampAnnotation: stamp}, running},
		"a later process": {map[string]string{processAnnotation: other, stampAnnotation: stamp + "1"}, ""},
		"another boot":    {map[string]string{processAnnotation: other, stampAnnotation: "1" + stamp}, ""},
		"without a stamp": {map[string]string{processAnnotation: other}, running},
		"has ended":       {map[string]string{processAnnotation: "999999999", stampAnnotation: stamp}, ""},
	} {
		got := ""
		if err := checkLeftBehind("lesson-1", tc.annotations); err != nil {
			got = err.Error()
		}
		if want := strings.Replace(tc.want, "%s", other, 1); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	own, err := datadir.ProcessStamp(os.Getpid())
	if a := learnerAnnotations(); err != nil || a[stampAnnotation] != own || own == stamp {
		t.Errorf("this process has %v, %v; the other one %q", a, err, stamp)
	}
}
