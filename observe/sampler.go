package observe

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	sampleInterval = time.Second
	maxSamples     = 60 // kept per queue
	rateSamples    = 5  // averaged for a rate
)

// sampler reads the counters once a second, for rates and the history.
type sampler struct {
	observer *Observer

	mu     sync.Mutex // between the sampler and readers; hooks never take it
	queues map[queueID]*queueHistory
	past   []Process // the last rateSamples+1
	times  []time.Time
}

// queueHistory has one sample per second, and the counters at the last sample.
type queueHistory struct {
	history []Sample
	last    QueueChanged
	resumed int64 // Queue.Resumed at the last sample
}

// exceeds reports whether the queue had counted more at the last sample: it is another one now.
func (h *queueHistory) exceeds(e *QueueChanged) bool {
	return e.Adds < h.last.Adds || e.Gets < h.last.Gets || e.Done < h.last.Done
}

func newSampler(o *Observer) *sampler {
	s := &sampler{observer: o, queues: map[queueID]*queueHistory{}}
	s.sample()
	return s
}

func (s *sampler) run(ctx context.Context) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.sample()
			s.observer.follower.read()
		case <-ctx.Done():
			return
		}
	}
}

func (s *sampler) sample() {
	p, more := s.observer.readProcess(), s.observer.moreQueues()
	now := time.Now() // later than the tick if the machine is busy
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past, s.times = append(s.past, p), append(s.times, now)
	if over := len(s.past) - rateSamples - 1; over > 0 {
		s.past, s.times = slices.Delete(s.past, 0, over), slices.Delete(s.times, 0, over)
	}
	seen := map[queueID]bool{}
	for _, q := range s.observer.queues.sorted() {
		if q.recorder == nil || q.recorder.observer == s.observer {
			seen[q.id()] = true
			q.delayed.pendingKeys(now) // forgets those that were due: there may be no other reader
			s.sampleQueue(q.endSample(), now, 0, q.recorder != nil && q.recorder.skipsIdle.Load())
		}
	}
	for _, v := range more {
		if v.Outside {
			continue
		}
		seen[queueID{v.Controller, v.Name}] = true
		s.sampleQueue(&QueueChanged{Controller: v.Controller, Queue: v.Name, Depth: v.Depth, MaxDepth: v.Depth, InFlight: v.InFlight, Adds: v.Adds, Gets: v.Gets, Done: v.Done}, now, v.Resumed, false)
	}
	for id, h := range s.queues {
		if !seen[id] { // the next run of its controller continues the numbers
			h.history = nil
		}
	}
}

// wasEmpty reports whether no key of a queue waited or was worked on at the last sample.
func (s *sampler) wasEmpty(id queueID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[id]
	return q != nil && q.last.Depth+q.last.InFlight == 0
}

// fillRates fills in the rates of a process over the last seconds.
func (s *sampler) fillRates(p *Process, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took := now.Sub(s.times[0]).Seconds(); took > 0 {
		p.RequestRate = float64(p.Requests-s.past[0].Requests) / took
		p.CPUPercent = 100 * (p.CPU - s.past[0].CPU).Seconds() / took
	}
}

// sampleQueue adds a sample, and records it if the numbers have changed; with
// onlyWaiting, only if keys wait.
func (s *sampler) sampleQueue(e *QueueChanged, now time.Time, resumed int64, onlyWaiting bool) {
	id := queueID{e.Controller, e.Queue}
	h := s.queues[id]
	isNew := h == nil || h.exceeds(e)
	if isNew {
		h = &queueHistory{last: QueueChanged{Controller: e.Controller, Queue: e.Queue}}
		s.queues[id] = h
	}
	isLate := !isNew && resumed != h.resumed // it has counted while it was silent
	h.resumed = resumed
	if isFirst := len(s.times) == 1; !isLate && (!isNew || !isFirst && !IsReported(e.Controller)) { // otherwise it may have counted for long
		h.history = append(h.history, Sample{MaxDepth: e.MaxDepth, Adds: e.Adds - h.last.Adds, Done: e.Done - h.last.Done})
	}
	if over := len(h.history) - maxSamples; over > 0 {
		h.history = slices.Delete(h.history, 0, over)
	}
	if *e != h.last {
		h.last = *e
		if !onlyWaiting || e.Depth+e.InFlight > 0 {
			s.observer.append(e, now)
		}
	}
}

// fillQueue fills in the rates and the history of a queue.
func (s *sampler) fillQueue(id queueID, v *Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.queues[id]
	if h == nil || len(h.history) == 0 {
		return
	}
	recent := h.history[max(len(h.history)-rateSamples, 0):]
	var adds, done int64
	for _, one := range recent {
		adds, done = adds+one.Adds, done+one.Done
	}
	took := s.sampledFor(len(recent)).Seconds()
	v.AddRate, v.DoneRate = float64(adds)/took, float64(done)/took
	v.MaxDepth = max(v.MaxDepth, v.Depth, h.history[len(h.history)-1].MaxDepth)
	if slices.ContainsFunc(h.history, func(one Sample) bool { return one != Sample{} }) {
		v.History = slices.Clone(h.history)
	}
}

// sampledFor returns the time that the last n samples took: longer than usual if the machine was busy.
func (s *sampler) sampledFor(n int) time.Duration {
	took := time.Duration(n) * sampleInterval
	if last := len(s.times) - 1; last >= n {
		took = max(took, s.times[last].Sub(s.times[last-n]))
	}
	return took
}

// forgetController forgets the queues of a controller that was removed.
func (s *sampler) forgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.queues, func(id queueID, _ *queueHistory) bool { return id.controller == name })
}

// endQueues ends the history of the queues of a controller that stops, closed among them: what these have counted is nothing that
// the next ones do.
func (s *sampler) endQueues(controller string, closed []*queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.queues {
		if id.controller == controller {
			h.history = nil
		}
	}
	for _, q := range closed {
		s.queues[q.id()] = &queueHistory{last: *q.endSample()}
	}
}
