package learn

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/ui"
)

// typed returns a console with a line editor whose reader types these keys.
func typed(t *testing.T, keys string) *console {
	t.Helper()
	c := &console{style: style{ui.Mode{}}, out: io.Discard, in: newInput(strings.NewReader(keys)), ctx: t.Context()}
	t.Cleanup(c.in.close)
	c.resetEditor()
	return c
}

// Ctrl-C clears a line, and ends the editor at an empty one. Keys after it are not lost.
func TestCtrlC(t *testing.T) {
	c := typed(t, "kubectl delete\x03echo a\r\x03\x03yes\r")
	if line, err := c.editor.ReadLine(); line != "echo a" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	for range 2 {
		if line, err := c.editor.ReadLine(); !errors.Is(err, errLeaveKey) {
			t.Fatalf("got %q, %v", line, err)
		}
		c.resetEditor()
	}
	if line, err := c.editor.ReadLine(); line != "yes" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestTabCompletes(t *testing.T) {
	var shown bytes.Buffer
	c := typed(t, "ku\tget p\t\ts\r")
	c.out = &shown
	c.completing = func(line string) completion {
		if strings.HasPrefix("kubectl", line) {
			return completion{line, []string{"kubectl"}}
		}
		return completion{line[strings.LastIndexByte(line, ' ')+1:], []string{"pods", "pos"}}
	}
	line, err := c.editor.ReadLine()
	if line != "kubectl get pos" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	if !strings.Contains(shown.String(), "pods pos") {
		t.Errorf("the candidates are not listed:\n%q", shown.String())
	}
}
