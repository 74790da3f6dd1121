package learn

import "slices"

// checks returns all checks of a lesson.
func (l *Lesson) checks() (list []*Check) {
	for _, s := range l.Steps {
		for _, part := range s.Parts {
			switch part := part.(type) {
			case *Do:
				list = append(list, part.Until...)
			case *Act:
				list = append(list, part.Until...)
			case *Ask:
				list = append(list, part.Measure)
			}
		}
	}
	return slices.DeleteFunc(list, func(c *Check) bool { return c == nil })
}

// shows returns all that a lesson shows.
func (l *Lesson) shows() (list []*Show) {
	for _, s := range l.Steps {
		for _, part := range s.Parts {
			if show, ok := part.(*Show); ok {
				list = append(list, show)
			}
		}
	}
	return list
}
