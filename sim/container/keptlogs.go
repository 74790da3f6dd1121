package container

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
)

const maxKeptLogs = 1 << 20 // bytes of the logs of removed containers

// keptLogs are the ends of the logs of removed containers, the newest last: a test deletes what has failed, and then its log
// is asked for.
type keptLogs struct {
	list []keptLog
	size int
}

type keptLog struct {
	uid       types.UID
	container string
	number    int32
	lines     []LogLine
	size      int
}

// LogEnd returns the last lines of a run, or of one that was removed not long ago; nil if it has none.
func (r *Runtime) LogEnd(uid types.UID, container string, number int32) []LogLine {
	s := r.active()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.find(uid, container, number); run != nil {
		lines, _, _ := run.log.Read(0)
		return lines
	}
	for _, l := range slices.Backward(s.kept.list) { // a restore brings back a Pod with its runs
		if l.uid == uid && l.container == container && l.number == number {
			return l.lines
		}
	}
	return nil
}

// keepLogs keeps the logs of a Pod that is removed. It needs the lock.
func (s *session) keepLogs(p *pod) {
	for _, c := range p.containers {
		for _, r := range []*run{c.previous, c.current} {
			if r != nil {
				s.kept.add(p.uid, r)
			}
		}
	}
}

func (k *keptLogs) add(uid types.UID, r *run) {
	lines, size := r.log.end(kubeletlogs.MaxRemovedBytes)
	if len(lines) == 0 {
		return
	}
	k.list = append(k.list, keptLog{uid, r.name, r.number, lines, size})
	for k.size += size; k.size > maxKeptLogs; k.list = k.list[1:] {
		k.size -= k.list[0].size
		k.list[0] = keptLog{} // the array stays
	}
}
