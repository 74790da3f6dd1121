package learn

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Commands that are repeated without output say what takes long, also while the lesson is set up again.
func TestSlowCommandsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"cd .":      "",
		"sleep 1.3": "Running \"sleep 1.3\" …\n",
	} {
		var out bytes.Buffer
		r := &runner{lesson: &Lesson{}, shell: &shell{dir: t.TempDir()}, replaying: true}
		r.console = &console{style: style{ui.Mode{}}, out: &out}
		if err := r.performDo(t.Context(), &Do{Run: Commands{line}}); err != nil || out.String() != want {
			t.Errorf("%s: %v, got %q, want %q", line, err, &out, want)
		}
	}
}

// A reader whose earlier command prevents the solution is told about skip: after the solution has failed, and after
// two checks.
func TestWayOutOfATask(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lesson-1"}}`)
	}))
	defer server.Close()
	objects, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	control, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	const wayOut = `"skip" sets the lesson up again`
	for name, tc := range map[string]struct {
		typed []string
		want  int
	}{
		"one check":              {[]string{""}, 0},
		"two checks":             {[]string{"", "check"}, 1},
		"another command fails":  {[]string{"exit 2"}, 0},
		"the solution fails":     {[]string{"exit 1"}, 1},
		"the solution succeeded": {[]string{"cd ."}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := &shell{dir: t.TempDir(), namespace: "lesson-1"}
			plane := &controlPlane{objects: objects, control: control}
			r := &runner{lesson: &Lesson{}, plane: plane, shell: s, probe: &probe{controlPlane: plane, shell: s}, Options: Options{Out: io.Discard}}
			r.console = &console{style: style{ui.Mode{}}, out: &out}
			reader := &task{runner: r, awaited: r.newAwaited(time.Hour), Do: &Do{Run: Commands{"cd .", "exit 1"}, Until: []*Check{{Command: "exit 3", Say: "It works."}}}}
			for _, line := range tc.typed {
				if err := reader.handleLine(t.Context(), line); err != nil {
					t.Fatal(err)
				}
			}
			if n := strings.Count(out.String(), wayOut); n != tc.want || strings.Contains(out.String(), "yet") {
				t.Errorf("said %d times, want %d:\n%s", n, tc.want, &out)
			}
		})
	}
}
