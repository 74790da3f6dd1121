package learn

import "errors"

// mistakes collects the errors in a block.
type mistakes struct {
	block   yamlBlock
	partial bool // some of the block was not decoded: what seems to be missing may be there
	errs    []error
}

func (m *mistakes) add(err error) {
	if err != nil {
		m.errs = append(m.errs, err)
	}
}

// rejectIf adds an error if something is wrong.
func (m *mistakes) rejectIf(wrong bool, line int, format string, args ...any) {
	if wrong {
		m.add(parseErrorf(line, format, args...))
	}
}

// requireUnless adds an error if something is missing, unless that may be what was not decoded.
func (m *mistakes) requireUnless(missing bool, line int, format string, args ...any) {
	m.rejectIf(missing && !m.partial, line, format, args...)
}

// requireOne adds an error unless one field is set. Their number is the first value in its text.
func (m *mistakes) requireOne(set, line int, format string, args ...any) {
	args = append([]any{set}, args...)
	m.requireUnless(set == 0, line, format, args...)
	m.rejectIf(set > 1, line, format, args...)
}

// lineOf is that of the block.
func (m *mistakes) lineOf(path ...any) int { return m.block.lineOf(path...) }

func (m *mistakes) err() error { return errors.Join(m.errs...) }
