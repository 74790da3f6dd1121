package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui/explain"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// readLesson reads a lesson in a file, and reports all of its errors.
func readLesson(ctx context.Context, path string) (*learn.Lesson, error) {
	lesson, err := learn.ReadFile(ctx, path)
	list, parsed := errors.AsType[learn.ParseErrors](err)
	if err != nil && !parsed {
		return nil, err
	}
	wrong, _ := lesson.CheckNames(knownToLessons(path))
	list = append(list, wrong...)
	if len(list) == 0 {
		return lesson, nil
	}
	list.Sort()
	last := len(list) - 1 // printed when the command ends
	for _, e := range list[:last] {
		printError(e)
	}
	return nil, usage.Errorf("%w", list[last])
}

// knownToLessons is what a lesson may name on every control plane.
func knownToLessons(file string) learn.Known {
	k := learn.Known{File: file, CheckFlags: func(flags []string) error {
		u, err := parseLessonPlane(&target{}, flags)
		if err != nil {
			return err
		}
		return u.validateFlags()
	}}
	for _, c := range ctrlplane.Controllers() {
		k.Controllers = append(append(k.Controllers, c.Name), c.Aliases...)
	}
	for _, page := range explain.Pages() {
		for queue := range page.Queues {
			k.Queues = append(k.Queues, queue)
		}
	}
	slices.Sort(k.Queues)
	return k
}

// printChecked says that a lesson, which was read, has no errors, and what it may need.
func printChecked(out io.Writer, c chosenLesson) error {
	_, notes := c.CheckNames(knownToLessons(c.key))
	for _, n := range notes {
		printWarning(n)
	}
	_, err := fmt.Fprintf(out, "%s: no errors, %s\n", words.OneLine(c.key), words.Count(len(c.Steps), "step"))
	return err
}
