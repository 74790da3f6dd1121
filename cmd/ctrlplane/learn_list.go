package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// listedLesson is a lesson in "ctrlplane learn --list".
type listedLesson struct {
	Number  string `json:"number"`
	Name    string `json:"name"`
	Title   string `json:"title"`
	Minutes int    `json:"minutes"`
	Done    bool   `json:"done"`
	// LeftAt is the step to continue with, and Steps their number; 0 = it was not left.
	LeftAt int `json:"leftAt,omitempty"`
	Steps  int `json:"steps,omitempty"`
}

func (l *learnCommand) printLessons(out io.Writer, all []*learn.Lesson, p *learn.Progress) error {
	list := listLessons(all, p)
	name := func(l listedLesson) string { return l.Name }
	if done, err := writeList(l.output, out, map[string][]listedLesson{"items": list}, list, name); done {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LESSON\tTITLE\tMINUTES\tPROGRESS")
	for _, lesson := range list {
		fmt.Fprintf(w, "%s %s\t%s\t%d\t%s\n", lesson.Number, lesson.Name, lesson.Title, lesson.Minutes, lesson.progress())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	what, verb := whatNext(list, all, p)
	_, err := fmt.Fprintf(out, "\n%s: %s\n", what, l.target.commandLine(verb))
	return err
}

func listLessons(all []*learn.Lesson, p *learn.Progress) []listedLesson {
	list := make([]listedLesson, len(all))
	for i, lesson := range all {
		list[i] = newListedLesson(lesson, p.Lessons[lesson.Name])
	}
	return list
}

// whatNext says how the reader can go on: with the lesson that --resume continues, or else with the first one that is not done.
func whatNext(list []listedLesson, all []*learn.Lesson, p *learn.Progress) (what, verb string) {
	unfinished := p.Unfinished(all)
	left := slices.IndexFunc(all, func(l *learn.Lesson) bool { return l.Name == unfinished })
	if left >= 0 && list[left].LeftAt > 0 {
		return "To continue lesson " + list[left].Number, "learn --resume"
	}
	switch next := slices.IndexFunc(list, func(l listedLesson) bool { return !l.Done }); next {
	case -1:
		return "To take the first lesson again", "learn 1"
	case 0:
		return "To take the first lesson", "learn 1"
	default:
		return "To take the next lesson", "learn " + list[next].Number
	}
}

func newListedLesson(lesson *learn.Lesson, p learn.LessonProgress) listedLesson {
	number, name, _ := strings.Cut(lesson.Name, "-")
	l := listedLesson{Number: strings.TrimLeft(number, "0"), Name: name, Title: lesson.Title, Minutes: lesson.Minutes, Done: p.Done}
	if p.Step > 0 && p.Of == len(lesson.Steps) {
		l.LeftAt, l.Steps = lesson.Position(p.Step)
	}
	return l
}

func (l listedLesson) progress() string {
	switch {
	case l.LeftAt > 0:
		return fmt.Sprintf("left at step %d of %d", l.LeftAt, l.Steps)
	case l.Done:
		return "done"
	}
	return ""
}
