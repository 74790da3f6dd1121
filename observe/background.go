package observe

// isBackground reports whether an event is of what a control plane does all the time although
// nothing happens: it renews leases and heartbeats, repeats keys by timers and polls. It leads to
// nothing, so that it does not evict what causes are read from. Notable events are never background.
func (j *journal) isBackground(e Event) bool {
	s, ok := e.(*Synced)
	if !ok || s.Cause == 0 || s.Writes > 0 || s.Failed() {
		return isBackground(e)
	}
	cause, _ := j.all.get(s.Cause - 1)
	return cause != nil && isBackground(cause.Event)
}

// isBackground is what is known without other records.
func isBackground(e Event) bool {
	if isNotable(e) {
		return false
	}
	switch e := e.(type) {
	case *QueueChanged:
		return true
	case *callEntry:
		return e.has(callIsBackground)
	case *Called:
		return e.isBackground()
	case *Delivered:
		return e.Unchanged || e.Change == Resynced && len(e.Queues)+len(e.Later) == 0 || e.Object.IsEvent() || e.isRenewal()
	case *Synced:
		return e.Cause == 0 && e.CauseSync == 0 && e.Writes == 0
	case *Logged:
		return e.Level < tracedLevel
	}
	return false
}

func (c *Called) isBackground() bool {
	return !c.isNotable() && (c.isPlainRead() || c.Object.IsEvent() || c.isRenewal())
}

// isRenewal reports whether a call renews a lease. That one was created, deleted or taken over
// by another holder is kept.
func (c *Called) isRenewal() bool {
	return c.Object.IsLease() && !c.Failed() && (c.Verb == "update" || c.Verb == "patch") && c.TakenBy == ""
}

func (d *Delivered) isRenewal() bool {
	return d.Object.IsLease() && d.Change == Updated && d.TakenBy == ""
}

// tracedLevel is the lowest level of log lines that package trace shows: klog's V(2).
const tracedLevel = -2
