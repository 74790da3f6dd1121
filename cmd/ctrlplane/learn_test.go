package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/ui/learn"
)

func TestLearnUsageErrors(t *testing.T) {
	for args, tc := range map[string]struct {
		code int
		says string
	}{
		"learn quueue":             {2, `did you mean "queue"?`},
		"learn nowhere.md":         {2, "nowhere.md"},
		"learn 1 2":                {2, "one lesson"},
		"learn --resume":           {1, "nothing to resume"},
		"learn --dir x":            {2, "--dir needs a lesson"},
		"--name demo learn 1":      {1, "--name demo up"},
		"learn --check":            {2, "name a file"},
		"learn x.md --check":       {2, "x.md"},
		"learn x.md --check --yes": {2, "--check runs nothing"},
		"learn 1 --check --auto":   {2, "--check runs nothing"},
		"learn 1 --boil":           {2, "unknown flag"},
		"--name Demo learn --auto": {2, "--name"},
	} {
		t.Run(args, func(t *testing.T) {
			enterHome(t).requireFailure(t, strings.Fields(args), tc.code, tc.says)
		})
	}
	t.Run("mistake", func(t *testing.T) {
		h := enterHome(t)
		lesson := "---\ntitle: Mine\nsummary: A lesson of my own.\n---\n\n## One\n\n```do\nsay: x\nrun: y\nuntill: []\n```\n"
		if err := os.WriteFile("mine.md", []byte(lesson), 0o600); err != nil {
			t.Fatal(err)
		}
		h.requireFailure(t, []string{"learn", "mine.md"}, 2, `mine.md:11: unknown field "untill": did you mean "until"?`)
	})
}

func TestLearnList(t *testing.T) {
	h := enterHome(t)
	for _, args := range [][]string{{"learn"}, {"learn", "--list"}} {
		if list := h.mustRun(t, args...); !strings.Contains(list, "3 queue") || !strings.Contains(list, "what refuses a request") {
			t.Errorf("%q:\n%s", args, list)
		}
	}
}

// The list names what the reader can do next.
func TestLearnListSaysWhatIsNext(t *testing.T) {
	h := enterHome(t)
	path, err := progressPath()
	if err != nil {
		t.Fatal(err)
	}
	all, err := learn.All()
	if err != nil {
		t.Fatal(err)
	}
	save := func(lesson, step int) {
		t.Helper()
		steps := len(all[lesson-1].Steps)
		if step == 0 {
			step = steps
		}
		if err := learn.SaveStep(path, all[lesson-1].Name, step, steps); err != nil {
			t.Fatal(err)
		}
	}
	next := func(want string) {
		t.Helper()
		if list := h.mustRun(t, "learn", "--list"); !strings.HasSuffix(list, "\n"+want+"\n") {
			t.Errorf("want %q:\n%s", want, list)
		}
	}
	next("To take the first lesson: ctrlplane learn 1")
	save(1, 0)
	next("To take the next lesson: ctrlplane learn 2")
	save(13, 1)
	next("To continue lesson 13: ctrlplane learn --resume")
	for n := range all {
		save(n+1, 0)
	}
	next("To take the first lesson again: ctrlplane learn 1")
}
