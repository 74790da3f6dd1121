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

// lastingInterventions returns the interventions from before the lesson that last and may be why the lesson waits; nothing if
// the control plane does not answer, which the checks say.
func (r *runner) lastingInterventions(ctx context.Context) []ui.Intervention {
	now, err := r.probe.snapshot(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(ui.InterventionsFor(now, ""), func(i ui.Intervention) bool {
		return !slices.ContainsFunc(r.initial.interventions, func(was ui.Intervention) bool {
			was.Held = i.Held
			return was == i
		})
	})
}
