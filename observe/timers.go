package observe

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Timer is a time at which a controller acts without an event.
type Timer struct {
	Controller string    `json:"controller"`
	What       string    `json:"what,omitempty"` // what the timer is for
	Due        time.Time `json:"due"`
	// Reason is why it waits, if something has failed before: CrashLoopBackOff.
	Reason string `json:"reason,omitempty"`
	// Awaited says that the control plane is not settled before, however late that is.
	Awaited bool `json:"awaited,omitempty"`
}

// compareTimers orders timers by due time.
func compareTimers(a, b Timer) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.What, b.What)) }

// timers are those that were last read.
type timers struct {
	mu   sync.Mutex
	list []Timer
	next time.Time // when they are read again while a controller is busy
}

// While a controller is busy, timers are read at most once in timerInterval, and that takes at most one part in
// timerShare of the time: with thousands of Pods it takes tens of milliseconds.
const (
	timerInterval = time.Second
	timerShare    = 100
)

// readTimers returns the timers, soonest first; while a controller is busy, those that wait because something has failed.
func (o *Observer) readTimers(now time.Time, isBusy bool) []Timer {
	asks := o.options.Load()
	if asks == nil || asks.Timers == nil {
		return nil
	}
	t := &o.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if !isBusy || !now.Before(t.next) {
		began := time.Now()
		t.list = asks.Timers()
		slices.SortFunc(t.list, compareTimers)
		t.next = now.Add(max(timerInterval, timerShare*time.Since(began)))
	}
	list := slices.Clone(t.list)
	if isBusy {
		list = slices.DeleteFunc(list, func(t Timer) bool { return t.Reason == "" || !t.Due.After(now) })
	}
	return list
}
