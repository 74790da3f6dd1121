package learn

import (
	"context"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxInterventions is of how many interventions a text says how to undo them.
const maxInterventions = 3

// printInterventions says which controllers and clients are changed manually, and how to undo that: the lesson may wait for
// what they do not do.
func (r *runner) printInterventions(list []ui.Intervention) {
	note := func(text string) {
		r.printf("%s", r.wrap(r.formatCue("Note: "), "  ", r.renderInline(text)))
	}
	for n, i := range list {
		if n == maxInterventions {
			note(words.Count(len(list)-n, "more intervention") + ": `ctrlplane status` names them.")
			return
		}
		verb := "ctrlplane controllers "
		if i.OfClient {
			verb = "ctrlplane clients "
		}
		var undo []string
		for _, u := range i.Undo() {
			undo = append(undo, "`"+verb+u[0]+" "+ui.QuotePOSIX(i.Controller)+u[1]+"`")
		}
		note(i.String() + ". To undo it: " + strings.Join(undo, " and "))
	}
}

// interventions returns what is changed manually; nothing if the control plane does not answer.
func (r *runner) interventions(ctx context.Context) []ui.Intervention {
	s, err := r.probe.snapshot(ctx)
	if err != nil {
		return nil
	}
	return ui.Interventions(s)
}

// foreignInterventions returns the interventions in controllers and clients that no command of the lesson changes: the
// lesson may need the others.
func (r *runner) foreignInterventions(ctx context.Context) []ui.Intervention {
	return slices.DeleteFunc(r.interventions(ctx), func(i ui.Intervention) bool {
		isNamed := func(word string) bool { return word == i.Controller || r.plane.controllerNames[word] == i.Controller }
		return slices.ContainsFunc(r.lesson.commands(), func(line string) bool {
			changes := strings.Contains(line, "ctrlplane controllers ") || strings.Contains(line, "ctrlplane clients ")
			return changes && slices.ContainsFunc(strings.Fields(line), isNamed)
		})
	})
}

// commands returns the command lines of the lesson.
func (l *Lesson) commands() (list []string) {
	for _, s := range l.Steps {
		for _, p := range s.Parts {
			switch p := p.(type) {
			case *Do:
				list = append(list, p.Run...)
			case *Act:
				list = append(list, p.Run...)
			}
		}
	}
	return list
}
