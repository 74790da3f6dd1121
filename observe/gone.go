package observe

import "github.com/ctrlplane/ctrlplane/internal/words"

// Gone says how the process of an operator's controller has ended; empty if it runs, or if that is not known. A
// [Controller] whose ProcessState is neither off nor unknown has no such value.
type Gone string

// How a process has ended.
const (
	GoneEnded Gone = "ended" // it has sent its last report
	GoneLost  Gone = "lost"  // it has closed its connection without one, as when it was killed
	// GoneSilent is for one that has not reported for some time: it has ended, or is suspended, as by a debugger.
	GoneSilent Gone = "silent"
)

// Reason says that the process has ended, during which syncs as far as is known, as the reason of a controller.
func (g Gone) Reason(running []string) string {
	text := "its process does not report"
	switch g {
	case GoneEnded:
		text = "its process has ended"
	case GoneLost:
		text = "its process has closed its connection without a last report"
	case GoneSilent:
		text += " any more"
	}
	if len(running) > 0 {
		text += "; last heard of during the sync of " + words.First(running, 3)
	}
	return text
}

// IsSilent reports whether it is a controller of an operator whose process may be suspended instead of ended.
func (c *Controller) IsSilent() bool { return c.Gone == GoneSilent }
