package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
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
		"--data-dir x learn 1":     {1, `start it with "ctrlplane --data-dir x up -d"`},
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

// A lesson in the shell of another one would be ended by that one.
func TestLearnInTheShellOfALesson(t *testing.T) {
	h := enterHome(t)
	t.Setenv(learn.NamespaceEnv, "lesson-1")
	h.requireFailure(t, []string{"learn", "3"}, 1, "this shell is that of a lesson, which uses namespace lesson-1: leave that lesson first, or use a shell that is not set up for it")
	h.mustRun(t, "learn", "--list")
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
	plane := "" // the default one
	save := func(lesson, step int) {
		t.Helper()
		steps := len(all[lesson-1].Steps)
		if step == 0 {
			step = steps
		}
		if err := learn.SaveStep(path, plane, all[lesson-1].Name, step, steps); err != nil {
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
	h.requireFailure(t, []string{"learn", "--resume"}, 1, `nothing to resume: begin with "ctrlplane learn 2"`)
	save(4, 2)
	save(1, 0)
	next("To continue lesson 4: ctrlplane learn --resume")
	save(13, 1)
	next("To continue lesson 13: ctrlplane learn --resume")
	if plane, err = datadir.Path("ann", ""); err != nil {
		t.Fatal(err)
	}
	save(6, 1)
	next("To continue lesson 13: ctrlplane learn --resume")
	if list := h.mustRun(t, "learn", "--name", "ann"); !strings.HasSuffix(list, "\nTo continue lesson 6: ctrlplane --name ann learn --resume\n") || strings.Contains(list, "done") {
		t.Errorf("of another control plane:\n%s", list)
	}
	plane = ""
	t.Setenv(dataDirEnv, t.TempDir()) // as in run: it names the control plane, but the user has not
	next("To continue lesson 13: ctrlplane learn --resume")
	for n := range all {
		save(n+1, 0)
	}
	next("To take the first lesson again: ctrlplane learn 1")
}

// A file is read with what the program knows: flags and controllers that do not exist are errors, which kinds and queues
// may be added is noted.
func TestLearnCheckKnowsNames(t *testing.T) {
	h := enterHome(t)
	write := func(front, checks string) {
		t.Helper()
		text := "---\ntitle: Mine\nsummary: A lesson of my own.\n" + front + "---\n\n## One\n\n```run\nuntil:\n" + checks + "```\n"
		if err := os.WriteFile("mine.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plane: [--nodes=2, --no-such-flag]\nminutes: ten\n", "- {controller: nosuch, is: off}\n- {controller: kube-scheduler, is: runing}\n")
	r := h.run(t, "learn", "--check", "mine.md")
	for _, want := range []string{"mine.md:4: plane: unknown flag: --no-such-flag", `mine.md:5: "ten" is not a number`, `mine.md:12: unknown controller "nosuch"`, `mine.md:13: controller: "runing"`} {
		if r.code != 2 || strings.Count(r.stderr, want) != 1 || strings.Count(r.stderr, "\n") != 4 {
			t.Errorf("code %d, %q is missing:\n%s", r.code, want, r.stderr)
		}
	}
	write("plane: [--nodes=2]\n", "- {queue: deplyment, of: depth}\n- {count: nosuchkind}\n- {controller: deployment, is: running}\n")
	r = h.run(t, "learn", "--check", "mine.md")
	for _, want := range []string{`mine.md:11: "deplyment" is not a queue of Kubernetes: did you mean "deployment"?`, `mine.md:12: "nosuchkind" is not a kind of Kubernetes`} {
		if r.code != 0 || strings.Count(r.stderr, want) != 1 || !strings.HasSuffix(r.stdout, "mine.md: no errors, 1 step\n") {
			t.Errorf("code %d, stdout %q, %q is missing:\n%s", r.code, r.stdout, want, r.stderr)
		}
	}
}

// What built-in lessons name exists.
func TestBuiltInLessonsNameWhatExists(t *testing.T) {
	all, err := learn.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		wrong, notes := l.CheckNames(knownToLessons(l.Name))
		for _, n := range notes {
			if !strings.Contains(n, "left out on this machine") {
				t.Error(n)
			}
		}
		if len(wrong) > 0 {
			t.Error(wrong)
		}
	}
}

// A lesson that was complete when it was interrupted, as while its reader looks around, is not one to continue.
func TestHowToContinueALesson(t *testing.T) {
	l := &learnCommand{target: &target{name: "default"}}
	c := chosenLesson{&learn.Lesson{Name: "02-level", Steps: []*learn.Step{{}, {}}}, "02-level"}
	for step, want := range []string{"To begin again: ctrlplane learn 2\n", "To continue at step 2: ctrlplane learn 2 --resume\n", ""} {
		if got := l.howToContinue(c, step); got != want {
			t.Errorf("step %d: got %q, want %q", step, got, want)
		}
	}
}
