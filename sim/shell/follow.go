package shell

import (
	"syscall"
	"time"
)

// follower is a run of tail -f or -F, after the end of the files was printed.
type follower struct {
	p       *proc
	files   []followed
	byName  bool // -F: a file that is replaced is followed, and one that does not exist yet
	headers bool
	every   time.Duration
	last    int // the file that was printed last
}

// followed is an operand of tail.
type followed struct {
	name string
	o    *ofile // nil if it is not open
}

// leastFollow is the shortest time between two looks at the files.
const leastFollow = 10 * time.Millisecond

// parseFollow returns the follower that the options ask for, nil if they ask for none. ok is
// false if an error was reported.
func (p *proc) parseFollow(f flags, names []string) (w *follower, ok bool) {
	every := time.Second
	if f.has('s') {
		var err error
		if every, err = sleepTime([]string{f['s']}); err != nil || every < 0 {
			p.fail("invalid number '%s'", f['s'])
			return nil, false
		}
	}
	if !f.has('f') && !f.has('F') {
		return nil, true
	}
	w = &follower{p: p, byName: f.has('F'), headers: len(names) > 1 && !f.has('q') || f.has('v'), every: max(every, leastFollow), last: -1}
	for _, name := range names {
		if name != "-" {
			w.files = append(w.files, followed{name: name})
		}
	}
	return w, true
}

// add follows a file that was opened.
func (w *follower) add(name string, o *ofile) {
	for i := range w.files {
		if f := &w.files[i]; f.name == name && f.o == nil {
			f.o, w.last = o.dup(), i
			return
		}
	}
}

// release closes the files: the process may be killed at any time.
func (w *follower) release() {
	for _, f := range w.files {
		f.o.release(w.p.m)
	}
}

// follows reports whether there is something to follow.
func (w *follower) follows() bool {
	for _, f := range w.files {
		if f.o != nil || w.byName {
			return true
		}
	}
	return false
}

// run prints what is appended to the files, until the process is killed.
func (w *follower) run() {
	for {
		w.p.sleep(w.every)
		for i := range w.files {
			w.print(i)
			if w.byName && w.isReplaced(&w.files[i]) {
				w.reopen(&w.files[i])
				w.print(i)
			}
		}
	}
}

// print prints what was appended to a file.
func (w *follower) print(i int) {
	o := w.files[i].o
	if o == nil {
		return
	}
	if h, ok := o.file.(*fileHandle); ok {
		(*handle)(h).rewindTruncated()
	}
	_ = w.p.copy(followedWriter{w, i}, fileStream{w.p, o})
}

// isReplaced reports whether the file that is open is not the one of its name any more. What is
// not a file of the container, such as a device, is never replaced.
func (w *follower) isReplaced(f *followed) bool {
	if f.o == nil {
		return true
	}
	h, ok := f.o.file.(*fileHandle)
	if !ok {
		return false
	}
	info, err := w.p.m.fs.stat(w.p.cred, w.p.abs(f.name), true)
	return err != nil || info.node != h.node
}

// reopen opens the file that has the name now.
func (w *follower) reopen(f *followed) {
	old := f.o
	f.o = nil
	old.release(w.p.m)
	var err error
	f.o, err = w.p.open(f.name, syscall.O_RDONLY, 0)
	switch {
	case err == nil && old == nil:
		w.p.fail("%s has appeared; following end of new file", f.name)
	case err == nil:
		w.p.fail("%s has been replaced; following end of new file", f.name)
	case old != nil:
		w.p.fail("%s has become inaccessible: %s", f.name, errText(err))
	}
}

// followedWriter prints a header before what comes from another file than the last part.
type followedWriter struct {
	w *follower
	i int
}

// Write implements [io.Writer].
func (f followedWriter) Write(b []byte) (int, error) {
	if f.w.headers && f.w.last != f.i {
		f.w.p.fileHeader(f.w.files[f.i].name, f.w.last < 0)
	}
	f.w.last = f.i
	return f.w.p.stdout().Write(b)
}
