package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// learnCommand has the flags of "ctrlplane learn".
type learnCommand struct {
	target *target
	list   bool
	resume bool
	auto   bool
	yes    bool
	check  bool
	web    bool
	dir    string
	traces string
	class  string
	join   string
	as     string
	output *outputFlag // of the list
}

const learnHelp = `Take a lesson of about ten minutes: you work with kubectl, here or in another
shell; the lesson detects what you did, shows how the controllers reacted, and
asks questions. It uses the control plane that you name, otherwise that of KUBECONFIG
or the default one, in a namespace of its own, or starts a control plane for the lesson
if that is not running.
At the end it deletes the namespace and reverts interventions on controllers and nodes.

Each control plane that you name has a progress of its own: students who share an
account each take a --name.

LESSON is a number or a name from --list. FILE.md is a lesson that you have
written: lessons are Markdown files. A lesson runs shell commands as you: on a
terminal, learn asks before it runs those of a file, unless --yes or --auto is given.

In a class, the teacher runs "learn --class" with a file that all can write, or with an
address, and sees the progress of each student who runs a lesson with --join.`

func newLearnCommand(t *target) *cobra.Command {
	l := &learnCommand{target: t, output: newListOutput()}
	cmd := &cobra.Command{
		Use:   "learn [LESSON | FILE.md]",
		Short: "Take interactive lessons on how controllers work, on a real control plane",
		Long:  learnHelp,
		Example: `  ctrlplane learn --list
  ctrlplane learn 1
  ctrlplane learn 1 --web
  ctrlplane learn --resume               the lesson that you left last
  ctrlplane learn 4 --resume
  ctrlplane learn 1 --name ann           on a control plane, and with progress, of Ann's own
  ctrlplane learn --class /srv/class.jsonl               the teacher
  ctrlplane learn 1 --join /srv/class.jsonl --as Ann     a student
  ctrlplane learn my-lesson.md --check   only report the errors in the file
  ctrlplane learn my-lesson.md --auto    perform all tasks automatically, and verify them`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage.Errorf(`learn takes one lesson, got %q: "%s --list" lists them`, args, cmd.CommandPath())
			case l.list && len(args) > 0:
				return usage.Errorf("--list takes no lesson, got %q: leave out one or the other", args[0])
			case l.resume && l.auto:
				return usage.Errorf("--resume and --auto exclude each other: use one of them")
			case l.check && (l.list || l.resume || l.auto || l.yes || l.web || l.dir != "" || l.traces != "" || l.class != "" || l.join != ""):
				return usage.Errorf("--check runs nothing: leave out the other flags")
			case l.check && len(args) == 0:
				return usage.Errorf("--check needs a lesson: name a file")
			case l.web && len(args) == 0 && !l.resume && !l.auto:
				return usage.Errorf("--web needs a lesson: name one")
			case l.output.format != "" && (len(args) > 0 || l.resume || l.auto):
				return usage.Errorf("--output is for the list of lessons: use it without a lesson")
			case l.dir != "" && len(args) == 0 && !l.resume:
				return usage.Errorf("--dir needs a lesson: name one")
			}
			return l.checkClassFlags(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&l.list, "list", false, "list the lessons and your progress")
	l.output.add(cmd)
	f.BoolVar(&l.resume, "resume", false, "continue LESSON, or the one that you left last; earlier steps are repeated automatically")
	f.BoolVar(&l.auto, "auto", false, "perform all tasks automatically, and fail if a check does not hold; without a lesson: all lessons")
	f.BoolVar(&l.yes, "yes", false, "do not ask before running the shell commands of a lesson file")
	f.BoolVar(&l.check, "check", false, "report the errors in a lesson file, all of them, without running it")
	f.BoolVar(&l.web, "web", false, "also serve a page that shows the controllers of the lesson as a moving diagram")
	f.StringVar(&l.dir, "dir", "", "folder for the lesson's files, which is kept afterwards")
	f.StringVar(&l.traces, "traces", "", "folder to write the lesson's traces to, as JSON")
	l.addClassFlags(f)
	return cmd
}

func (l *learnCommand) run(ctx context.Context, out io.Writer, args []string) error {
	if l.class != "" {
		return l.showClass(ctx)
	}
	all, err := learn.All()
	if err != nil {
		return err
	}
	path, progress, err := l.readProgress()
	switch lists := l.list || len(args) == 0 && !l.resume; {
	case datadir.IsStateFolderError(err) && l.auto: // needs none
	case datadir.IsStateFolderError(err) && lists:
		printWarning("your progress is not known: " + err.Error())
	case datadir.IsStateFolderError(err):
		return fmt.Errorf("your progress cannot be saved: %w", err)
	case err != nil:
		return err
	}
	if l.list || len(args) == 0 && !l.resume && !l.auto {
		return l.printLessons(out, all, &progress)
	}
	chosen, err := l.chooseLessons(ctx, all, args, &progress)
	if err != nil {
		return err
	}
	if l.check {
		return printChecked(out, chosen[0])
	}
	if open := os.Getenv(learn.NamespaceEnv); open != "" {
		return fmt.Errorf("this shell is that of a lesson, which uses namespace %s: leave that lesson first, or use a shell that is not set up for it", open)
	}
	if err := learn.CheckShell(); err != nil {
		return err
	}
	if err := l.confirmFile(ctx, out, chosen[0]); err != nil {
		return err
	}
	return l.runLessons(ctx, chosen, &progress, path)
}

// confirmFile asks the user whether to run the shell commands of a lesson file.
func (l *learnCommand) confirmFile(ctx context.Context, out io.Writer, c chosenLesson) error {
	if l.yes || l.auto || !c.isFile() || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	fmt.Fprintf(out, "%s runs shell commands on this machine, as you. Run it? [y/N] ", words.OneLine(c.key))
	answer := make(chan string, 1)
	go func() { // not joined: a read from a terminal cannot be interrupted
		answer <- readAnswer(os.Stdin)
	}()
	select {
	case text := <-answer:
		if text = strings.ToLower(strings.TrimSpace(text)); text == "y" || text == "yes" {
			return nil
		}
		return fmt.Errorf("lesson %s was not started: answer y, or use --yes", c.key)
	case <-ctx.Done():
		fmt.Fprintln(out)
		return context.Cause(ctx)
	}
}

// readAnswer reads one line, and nothing after it: that is for the lesson.
func readAnswer(in io.Reader) string {
	var line []byte
	for b := make([]byte, 1); ; {
		if n, err := in.Read(b); n == 0 || err != nil || b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

// progressPath is the file with the reader's progress.
func progressPath() (string, error) {
	dir, err := datadir.StateFolder()
	return filepath.Join(dir, "learn.json"), err
}

// progressOwner is the control plane that the user has named, whose progress is used; empty for the default one. The
// environment does not count: run sets it for a control plane that ends with its command.
func (l *learnCommand) progressOwner() string {
	if !l.target.named() {
		return ""
	}
	path, err := l.target.dataDirPath()
	if main, mainErr := datadir.Path("default", ""); err != nil || mainErr == nil && path == main {
		return ""
	}
	return path
}

func (l *learnCommand) readProgress() (path string, p learn.Progress, err error) {
	path, err = progressPath()
	if err == nil {
		p, err = learn.ReadProgress(path, l.progressOwner())
	}
	return path, p, err
}

// chosenLesson is a lesson with its key in the progress file.
type chosenLesson struct {
	*learn.Lesson
	key string
}

// isFile reports whether the user has named a file, rather than a built-in lesson.
func (c chosenLesson) isFile() bool { return c.key != c.Name }

// command is the verb that runs the lesson.
func (c chosenLesson) command() string {
	if c.isFile() {
		return "learn " + quoteWord(c.key)
	}
	number, _, _ := strings.Cut(c.Name, "-")
	return "learn " + strings.TrimLeft(number, "0")
}

// again is the command line that runs the lesson with the flags that a reader wants to repeat.
func (l *learnCommand) again(c chosenLesson, flags string) string {
	line := c.command() + flags
	if l.dir != "" {
		line += " --dir " + quoteWord(l.dir)
	}
	return l.target.commandLine(line + l.classFlags())
}

func (l *learnCommand) chooseLessons(ctx context.Context, all []*learn.Lesson, args []string, p *learn.Progress) ([]chosenLesson, error) {
	word := ""
	switch {
	case len(args) == 1:
		word = args[0]
	case l.resume:
		if word = p.Unfinished(all); word == "" {
			_, verb := whatNext(listLessons(all, p), all, p)
			return nil, fmt.Errorf("nothing to resume: begin with %s", l.target.quoteCommand(verb))
		}
	default:
		var list []chosenLesson
		for _, lesson := range all {
			list = append(list, chosenLesson{lesson, lesson.Name})
		}
		return list, nil
	}
	if !strings.HasSuffix(word, ".md") {
		lesson, err := learn.Find(all, word)
		if err != nil {
			return nil, usage.Errorf("%w", err)
		}
		return []chosenLesson{{lesson, lesson.Name}}, nil
	}
	lesson, err := readLesson(ctx, word)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage.Errorf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	key, err := filepath.Abs(word)
	return []chosenLesson{{lesson, key}}, err
}
