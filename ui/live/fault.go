package live

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// FaultError is a fault of the view. What it shows is not affected.
type FaultError struct{ what string }

func (e *FaultError) Error() string {
	return fmt.Sprintf("the live view has a fault: %s: use --ui plain, and please report it", e.what)
}

// catchPanic, deferred, ends the view after a panic, for which instead sets the results.
func (m model) catchPanic(instead func()) {
	if m.failed == nil {
		return
	}
	if p := recover(); p != nil {
		m.failed(&FaultError{words.OneLine(fmt.Sprint(p)) + panickedAt()})
		instead()
	}
}

// guard lets a panic of a command end the view.
func (m model) guard(cmd tea.Cmd) tea.Cmd {
	if m.failed == nil || cmd == nil {
		return cmd
	}
	return func() (msg tea.Msg) {
		defer m.catchPanic(func() {})
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, c := range batch {
				batch[i] = m.guard(c)
			}
		}
		return msg
	}
}

// panickedAt returns the innermost call of this package below a recovered panic.
func panickedAt() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/ui/live.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
