package learn

import (
	"errors"
	"fmt"
)

// checkControllerNames checks that the control plane has the controllers that a lesson
// names.
func (p *controlPlane) checkControllerNames(l *Lesson) error {
	var errs []error
	know := func(line int, names ...string) {
		for _, name := range nonEmpty(names...) {
			if _, err := p.resolveController(name); err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", line, err))
			}
		}
	}
	checks := func(list ...*Check) {
		for _, c := range list {
			know(c.Line, c.Controller, c.Held)
			if c.Records != nil {
				know(c.Line, c.Records.Controller)
			}
		}
	}
	for _, s := range l.Steps {
		for _, part := range s.Parts {
			switch part := part.(type) {
			case *Do:
				checks(part.Until...)
			case *Act:
				checks(part.Until...)
			case *Show:
				know(part.Line, append([]string{part.Held, part.Log, part.Controller}, part.Activity...)...)
			case *Ask:
				if part.Measure != nil {
					checks(part.Measure)
				}
			}
		}
	}
	return errors.Join(errs...)
}
