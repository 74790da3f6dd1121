package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// learnCommand is what the flags of "ctrlplane learn" say.
type learnCommand struct {
	target *target
	list   bool
	resume bool
	auto   bool
	dir    string
	traces string
}

func newLearnCommand(t *target) *cobra.Command {
	l := &learnCommand{target: t}
	cmd := &cobra.Command{
		Use:   "learn [LESSON | FILE.md]",
		Short: "Lessons on how controllers work, in this terminal, on a real control plane",
		Long: `Do a lesson of about ten minutes: you do something with kubectl, here or in
another shell; the lesson sees that it was done, shows what the controllers did,
and asks. It uses the control plane that runs, in a namespace of its own, or
starts one for itself. At the end, also after Ctrl-C, all of it goes: the
namespace, and hands on controllers and nodes.

LESSON is a number or a name from --list. A lesson is a Markdown file: FILE.md
does one that you have written.`,
		Example: `  ctrlplane learn --list
  ctrlplane learn 1
  ctrlplane learn --resume
  ctrlplane learn my-lesson.md --auto    do all that the reader should do, and check it`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage.Errorf(`learn takes one lesson, got %q: "%s --list" lists them`, args, cmd.CommandPath())
			case l.resume && l.auto:
				return usage.Errorf("--resume goes on where you left, --auto does all by itself: use one of them")
			case l.dir != "" && len(args) == 0 && !l.resume:
				return usage.Errorf("--dir is for the files of one lesson: say which")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&l.list, "list", false, "list the lessons, and how far you have come")
	f.BoolVar(&l.resume, "resume", false, "go on where you left; what comes before is done again for you")
	f.BoolVar(&l.auto, "auto", false, "do all by itself, and fail where a check does not hold; without a lesson: all of them")
	f.StringVar(&l.dir, "dir", "", "folder for the lesson's files, which are then kept")
	f.StringVar(&l.traces, "traces", "", "folder to write the traces to that the lesson names, as JSON")
	return cmd
}

func (l *learnCommand) run(ctx context.Context, out io.Writer, args []string) error {
	all, err := learn.All()
	if err != nil {
		return err
	}
	path, err := progressPath()
	if err != nil {
		return err
	}
	progress, err := learn.ReadProgress(path)
	if err != nil {
		return err
	}
	if l.list || len(args) == 0 && !l.resume && !l.auto {
		return l.printLessons(out, all, &progress)
	}
	chosen, err := l.chooseLessons(all, args, &progress)
	if err != nil {
		return err
	}
	return l.runLessons(ctx, chosen, &progress, path)
}

// progressPath is the file that says how far the reader has come.
func progressPath() (string, error) {
	path, err := datadir.Path("default", "")
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(path), "learn.json"), nil
}

// chosenLesson is a lesson, and what it is called in the progress.
type chosenLesson struct {
	*learn.Lesson
	key string
}

func (l *learnCommand) chooseLessons(all []*learn.Lesson, args []string, p *learn.Progress) ([]chosenLesson, error) {
	word := ""
	switch {
	case len(args) == 1:
		word = args[0]
	case l.resume && p.Last == "":
		return nil, fmt.Errorf("there is nothing to resume: begin with %q", l.target.commandLine("learn 1"))
	case l.resume:
		word = p.Last
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
	lesson, err := learn.ReadFile(word)
	if mistake := (*learn.ParseError)(nil); errors.As(err, &mistake) || errors.Is(err, os.ErrNotExist) {
		return nil, usage.Errorf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	key, err := filepath.Abs(word)
	return []chosenLesson{{lesson, key}}, err
}

func (l *learnCommand) printLessons(out io.Writer, all []*learn.Lesson, p *learn.Progress) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LESSON\tTITLE\tMINUTES\tYOU")
	for _, lesson := range all {
		number, name, _ := strings.Cut(lesson.Name, "-")
		m := p.Lessons[lesson.Name]
		state := ""
		switch {
		case m.Step > 0:
			state = fmt.Sprintf("left at step %d of %d", m.Step+1, m.Of)
		case m.Done:
			state = "done"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%d\t%s\n", strings.TrimLeft(number, "0"), name, lesson.Title, lesson.Minutes, state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s begins with the first.\n", l.target.commandLine("learn 1"))
	return err
}
