package report

import (
	"strconv"

	"github.com/ctrlplane/ctrlplane/observe"
)

// retries knows which failures were followed by a success of the same work. Those are
// not problems: controllers work by trying again.
type retries struct {
	succeeded map[string]uint64 // work, with the Seq of its last success
	ended     map[uint64]string // the work of a sync that made a failed call, by its ID
	open      map[uint64]bool   // syncs with a failed call that have not ended
}

func newRetries() *retries {
	return &retries{succeeded: map[string]uint64{}, ended: map[uint64]string{}, open: map[uint64]bool{}}
}

func syncWork(s *observe.Synced) string {
	if s.Key == "" {
		return ""
	}
	return "sync " + s.Controller + " " + s.Queue + " " + s.Key
}

func callWork(c *observe.Called) string {
	return "call " + c.Controller + " " + c.Verb + " " + resourceName(c) + " " + c.Object.Key()
}

func (r *retries) addSync(seq uint64, s *observe.Synced) {
	work := syncWork(s)
	if r.open[s.ID] {
		delete(r.open, s.ID)
		if work == "" && !s.Failed() { // at least the sync itself succeeded
			work = "sync " + strconv.FormatUint(s.ID, 10)
		}
		r.ended[s.ID] = work
	}
	if work != "" && !s.Failed() {
		r.succeeded[work] = seq
	}
}

func (r *retries) addCall(seq uint64, c *observe.Called) {
	switch {
	case !c.IsFailure():
		if c.IsWrite() {
			r.succeeded[callWork(c)] = seq
		}
	case c.Sync != 0:
		r.open[c.Sync] = true
	}
}

// wasRetried reports whether the failure of a mark was followed by a success: of the
// same call, or of a sync of the same key.
func (r *retries) wasRetried(m *mark) bool {
	work := m.work
	if m.sync != 0 && r.succeeded[r.ended[m.sync]] > m.seq {
		return true
	}
	return work != "" && r.succeeded[work] > m.seq
}

// markRetried changes the tone of failures that were followed by a success.
func (d *digest) markRetried() {
	for i := range d.marks.list {
		m := &d.marks.list[i]
		if m.tone != toneFailed && m.tone != toneConflict {
			continue
		}
		switch {
		case d.retries.wasRetried(m):
			if m.tone == toneFailed {
				m.tone = toneRetried
			}
			if m.group != nil {
				m.group.Retried++
			}
		case m.tone == toneConflict:
		case m.kind == syncKind:
			d.failedSyncs++
		case m.kind == writeKind || m.kind == readKind:
			d.failedCalls++
		}
	}
}
