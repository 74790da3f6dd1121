package instrument

import "time"

// flushTimeout is how long a panic waits until the sync that it ends was reported.
const flushTimeout = 250 * time.Millisecond

// enter notes that a controller starts.
func (r *reporter) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running++
}

// leave notes that a controller has ended. The last one of a manager that stops waits until that
// was reported: the process may end next.
func (r *reporter) leave() {
	r.mu.Lock()
	r.running--
	last := r.stopping && r.running == 0
	r.mu.Unlock()
	if last {
		r.setIdle()
		<-r.ended
	}
}

// stop notes that the manager stops, and reports whether a controller still runs.
func (r *reporter) stop() (running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	return r.running > 0
}

// flush returns when what was appended so far was sent, or after a moment.
func (r *reporter) flush() {
	if r.isOff() {
		return
	}
	sent := make(chan struct{})
	r.mu.Lock()
	r.flushes = append(r.flushes, sent)
	r.mu.Unlock()
	r.wakeUp()
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-sent:
	case <-timer.C:
	}
}

// noteFlushed is called when nothing is left to be sent.
func (r *reporter) noteFlushed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.records) > 0 {
		return
	}
	for _, sent := range r.flushes {
		close(sent)
	}
	r.flushes = nil
}
