//go:build unix

package docs_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/snippets"
)

// checkedBy are blocks that tests of other packages read from the pages, by page and
// language.
var checkedBy = map[[2]string]string{
	{"install.md", "yaml"}:     "test/containers",
	{"install.md", "go"}:       "test/containers",
	{"lessons.md", "markdown"}: "TestLearnOnOneControlPlane in test/command",
}

// unprompted matches commands that lack the prompt: they would be taken for output.
var unprompted = regexp.MustCompile(`(?m)^(make|tar|cd|go|docker|gh|brew|apt|curl|sha256sum|export|(\S*/)?ctrlplane|kubectl|[A-Z]+=\S+) `)

// TestEveryBlockIsChecked walks through all blocks of all pages: what is in them is run,
// applied, compiled or parsed by a test, or there is a reason.
func TestEveryBlockIsChecked(t *testing.T) {
	checked := 0
	for page, blocks := range pages(t) {
		for _, b := range blocks {
			if b.NotRun != "" || len(b.Commands) > 0 || checkedBy[[2]string{page, b.Language}] != "" {
				continue // TestReasons, TestCommandsOfThePages
			}
			checked++
			switch b.Language {
			case "":
				if command := unprompted.FindString(b.Text); command != "" {
					t.Errorf("%s: put \"$ \" in front of commands such as %q", b, command)
				}
			case "json":
				for decoder := json.NewDecoder(strings.NewReader(b.Text)); decoder.More(); {
					if err := decoder.Decode(new(any)); err != nil {
						t.Errorf("%s: %v", b, err)
						break
					}
				}
			case "yaml":
				if applyObject(b) == "" {
					requireAction(t, b)
				}
			case "go":
				if _, ok := goSnippets[snippetKey(page, b)]; !ok {
					t.Errorf("%s: goSnippets does not say how to compile it", b)
				}
			default:
				t.Errorf("%s: no test knows the language %q", b, b.Language)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d blocks are checked: does the search still work?", checked)
	}
}

// requireAction checks a step of a workflow that uses the action of this repository.
func requireAction(t *testing.T, b snippets.Block) {
	t.Helper()
	var steps []struct {
		Uses string
		With map[string]string
	}
	if err := yaml.Unmarshal([]byte(b.Text), &steps); err != nil || len(steps) != 1 || !strings.HasPrefix(steps[0].Uses, "ctrlplane/ctrlplane@") {
		t.Errorf("%s: neither an object nor a step with the action: %v", b, err)
		return
	}
	text := testutil.ReadFile(t, filepath.Join(root, "action.yml"))
	var action struct{ Inputs map[string]any }
	if err := yaml.Unmarshal([]byte(text), &action); err != nil {
		t.Fatal(err)
	}
	for input := range steps[0].With {
		if action.Inputs[input] == nil {
			t.Errorf("%s: the action has no input %q", b, input)
		}
	}
}
