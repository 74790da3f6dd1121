package endsignals

import "time"

// RepeatTime is how soon after a signal another one counts as the same. timeout(1) sends its signal to the
// process and to the process group, a terminal that is closed and systemd send several, and a parent such as
// npm forwards the Ctrl-C that the terminal has sent as well: all within some milliseconds, more on a busy machine.
// A person who presses Ctrl-C again because the first had no effect does so later, and little is missed if not: most
// control planes have stopped by then.
const RepeatTime = 300 * time.Millisecond

// Filter tells signals from their repetitions. The zero value has seen none.
type Filter struct{ counted time.Time }

// Counts reports whether a signal that arrives now is another one than the last that counted.
func (f *Filter) Counts() bool {
	now := time.Now()
	if !f.counted.IsZero() && now.Sub(f.counted) < RepeatTime {
		return false
	}
	f.counted = now
	return true
}
