package learn

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Known is what a program knows without a control plane.
type Known struct {
	File        string   // of the lesson
	Controllers []string // names and aliases
	Queues      []string
	// CheckFlags checks flags of a control plane.
	CheckFlags func(flags []string) error
}

// CheckNames returns the controllers and flags of a lesson that do not exist, and notes about what may exist: kinds and
// queues that are not those of Kubernetes, and steps for which a program is missing here.
func (l *Lesson) CheckNames(k Known) (wrong ParseErrors, notes []string) {
	reject := func(line int, format string, args ...any) {
		wrong = append(wrong, &ParseError{k.File, line, fmt.Errorf(format, args...).Error()})
	}
	if err := k.CheckFlags(l.Plane); err != nil && len(l.Plane) > 0 {
		reject(l.planeLine, "plane: %w", err)
	}
	for _, c := range l.namedControllers() {
		if !observe.IsReported(c.name) && !slices.Contains(k.Controllers, c.name) {
			reject(c.line, "unknown controller %q: %s", c.name, suggest.Hint(c.name, k.Controllers, `"ctrlplane explain" lists them`))
		}
	}
	note := func(line int, what, name string, known []string) {
		if name != "" && !slices.Contains(known, name) && !l.defines(name) {
			hint := suggest.Hint(name, known, "the lesson, or a program that it starts, has to add it")
			notes = append(notes, fmt.Sprintf("%s:%d: %q is not a %s of Kubernetes: %s", k.File, line, name, what, hint))
		}
	}
	kinds := builtInKinds()
	noteKind := func(line int, ref string, bare bool) {
		kind, _, isRef := strings.Cut(ref, "/")
		if !isRef && !bare {
			return
		}
		kind, _, _ = strings.Cut(kind, ".")                 // without its group
		if !slices.Contains(kinds, strings.ToLower(kind)) { // kubectl ignores case
			note(line, "kind", kind, kinds)
		}
	}
	for _, c := range l.checks() {
		noteKind(c.Line, c.Object, false)
		noteKind(c.Line, c.Count, true)
		note(c.Line, "queue", c.Queue, k.Queues)
	}
	for _, s := range l.shows() {
		noteKind(s.Line, s.Trace, false)
		noteKind(s.Line, s.Why, true)
		for _, q := range s.Queues {
			note(s.Line, "queue", q, k.Queues)
		}
	}
	for _, s := range l.Steps {
		if s.Needs != "" && !s.isPossible() {
			notes = append(notes, fmt.Sprintf("%s:%d: step %q is left out on this machine: it needs %s, which is not installed", k.File, s.Line, s.Title, s.Needs))
		}
	}
	wrong.Sort()
	return wrong, notes
}

// defines reports whether a listing of a lesson with a CustomResourceDefinition has a word.
func (l *Lesson) defines(word string) bool {
	for _, s := range l.Steps {
		for _, part := range s.Parts {
			if c, ok := part.(*Code); ok && strings.Contains(c.Text, "CustomResourceDefinition") && slices.Contains(wordsOf(c.Text), strings.ToLower(word)) {
				return true
			}
		}
	}
	return false
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// shortKinds are kubectl's short names, and the kinds of each control plane that are not in the scheme of client-go.
var shortKinds = strings.Fields(`cj cm cs crd crds csr deploy ds ep ev hpa ing ip limits netpol no ns pc pdb po pv pvc quota rc rs sa sc sts svc vap vac
	apiservice apiservices customresourcedefinition customresourcedefinitions nodemetrics podmetrics stage stages`)

// builtInKinds returns the kinds of Kubernetes in lower case, as kubectl accepts them.
func builtInKinds() []string {
	names := slices.Clone(shortKinds)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		names = append(names, strings.ToLower(gvk.Kind), plural.Resource, singular.Resource)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
