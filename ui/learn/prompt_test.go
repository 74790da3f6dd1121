package learn

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/ui"
)

// Where Enter is awaited, the words for tasks are no commands of the shell.
func TestTaskWordsWithoutATask(t *testing.T) {
	var out bytes.Buffer
	r := &runner{lesson: &Lesson{}, shell: &shell{namespace: "lesson-1", dir: "/missing"}}
	r.console = &console{style: style{ui.Mode{}}, out: &out, in: newInput(strings.NewReader("check\nhint\n\n")), rows: func() int { return 0 }}
	defer r.in.close()
	if err := r.waitForEnter(t.Context(), ""); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if n := strings.Count(out.String(), "This part has no task: press Enter.\n"); n != 2 {
		t.Errorf("got\n%s", &out)
	}
}
