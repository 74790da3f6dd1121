package class

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxStudents is the number of students that are shown.
const maxStudents = 200

// Roster has the last message of each student.
type Roster struct {
	mu       sync.Mutex
	students map[string]Message
	refused  int // students for whom there was no room
	changed  chan struct{}
}

// NewRoster returns an empty roster.
func NewRoster() *Roster {
	return &Roster{students: map[string]Message{}, changed: make(chan struct{}, 1)}
}

// apply takes a message.
func (r *Roster) apply(m Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.students[m.Student]; !known && len(r.students) >= maxStudents {
		r.refused++
		return
	}
	r.students[m.Student] = m
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// list returns the messages by name, and the number of those for which there was no room.
func (r *Roster) list() (list []Message, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = slices.SortedFunc(maps.Values(r.students), func(a, b Message) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Student), strings.ToLower(b.Student)), strings.Compare(a.Student, b.Student))
	})
	return list, r.refused
}
