package learn

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// namedController is a controller's name or alias in a lesson.
type namedController struct {
	name string
	line int
}

// namedControllers returns the controllers that the checks and blocks of a lesson name.
func (l *Lesson) namedControllers() (found []namedController) {
	add := func(line int, names ...string) {
		for _, name := range nonEmpty(names...) {
			found = append(found, namedController{name, line})
		}
	}
	for _, c := range l.checks() {
		add(c.Line, c.Controller, c.Held)
		if c.Records != nil {
			add(c.Line, c.Records.Controller)
		}
	}
	for _, s := range l.shows() {
		add(s.Line, append([]string{s.Held, s.Log, s.Controller}, s.Activity...)...)
	}
	return found
}

// checkControllerNames checks that the control plane has the controllers that a lesson
// names.
func (p *controlPlane) checkControllerNames(l *Lesson) error {
	var errs []error
	for _, c := range l.namedControllers() {
		if _, err := p.resolveController(c.name); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", c.line, err))
		}
	}
	return errors.Join(errs...)
}

// fullName finds names of controllers in prose.
var fullName = regexp.MustCompile(`\b[a-z]+(-[a-z]+)*-controller\b`)

// ControllerNames returns the names and aliases of the controllers that a lesson is about,
// each once: those in its checks and blocks, and full names in its prose.
func (l *Lesson) ControllerNames() (names []string) {
	for _, c := range l.namedControllers() {
		names = append(names, c.name)
	}
	for _, s := range l.Steps {
		for _, part := range s.Parts {
			if prose, ok := part.(Prose); ok {
				names = append(names, fullName.FindAllString(prose.Text, -1)...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
