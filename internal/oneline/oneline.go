// Package oneline writes errors on one line: those of upstream may have several.
package oneline

import (
	"regexp"
	"strings"
)

// breaks are line breaks with the indentation of the next line. Other spaces may be in a name
// that a message quotes.
var breaks = regexp.MustCompile(`\s*\n\s*`)

// Error returns an error whose text is that of err with a space for each line break. It wraps
// err, which is not nil.
func Error(err error) error { return &joined{[]error{err}} }

// Join is errors.Join with a text on one line, with semicolons between the errors.
func Join(errs ...error) error {
	var list []error
	for _, err := range errs {
		if err != nil {
			list = append(list, err)
		}
	}
	if list == nil {
		return nil
	}
	return &joined{list}
}

type joined struct{ errs []error }

func (j *joined) Error() string {
	texts := make([]string, len(j.errs))
	for i, err := range j.errs {
		texts[i] = breaks.ReplaceAllString(strings.TrimSpace(err.Error()), " ")
	}
	return strings.Join(texts, "; ")
}

func (j *joined) Unwrap() []error { return j.errs }
