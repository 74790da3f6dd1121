package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxLine is the longest line that is read. A whole snapshot of some hundred queues and
// clients takes less than one MiB.
const maxLine = 64 << 20

// decoder builds a recording from lines.
type decoder struct {
	recording Recording
	session   int   // first record of the current process
	late      bool  // records of the session are not in order yet
	last      *fold // after the last state of the session; nil if it has none
}

// lineHead is what every line has.
type lineHead struct {
	Kind string    `json:"kind"`
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
}

// read reads the lines of one file. The last one may be cut: the process that wrote it
// may have been killed.
func (d *decoder) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		ended := err != nil
		line = bytes.TrimSpace(line)
		if ended && len(line) == 0 {
			if n == 1 {
				return errors.New("it is empty: name a recording")
			}
			return nil
		}
		if n == 1 {
			err = d.addHeader(line)
		} else {
			err = d.add(line)
		}
		switch {
		case err != nil && ended && n > 1:
			d.recording.Cut = fmt.Sprintf("its last line, %d, is cut", n)
			return nil
		case err != nil && n > 1:
			return fmt.Errorf("line %d is damaged: %s", n, words.OneLine(err.Error()))
		case err != nil:
			return err
		case ended:
			return nil
		}
	}
}

// readLine returns a line with its end, or what is left with io.EOF.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("it is longer than %d MiB: not a recording", maxLine>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parseHeader reads the first line. Its errors are about the file.
func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil || h.Kind != headerKind {
		return h, fmt.Errorf("not a recording: its first line is not of kind %q: name an events.jsonl or a folder of \"run --report\", or a file of \"up --record\"", headerKind)
	}
	if h.Version != formatVersion {
		other := "a newer"
		if h.Version < formatVersion {
			other = "an older"
		}
		return h, fmt.Errorf("its format has version %d, and this ctrlplane reads version %d: use %s ctrlplane", h.Version, formatVersion, other)
	}
	return h, nil
}

func (d *decoder) addHeader(line []byte) error {
	h, err := parseHeader(line)
	d.recording.HasProblems = d.recording.HasProblems || h.Problems
	return err
}

// add adds a line. What it does not know, it ignores.
func (d *decoder) add(line []byte) error {
	var head lineHead
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	if err := checkElements(line, head.Kind == snapshotKind || head.Kind == stateChangedKind); err != nil {
		return err
	}
	switch head.Kind {
	case snapshotKind:
		var s snapshotLine
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if err := checkHistories(s.Queues); err != nil {
			return err
		}
		d.last = newFold(&s.Snapshot)
		d.addState(state{at: head.Time, whole: &s.Snapshot})
	case stateChangedKind:
		return d.addChange(line)
	case resourcesKind:
		var l resourcesLine
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		d.recording.Resources = l.Resources
	case restartedKind:
		d.endSession()
	default:
		if slices.Contains(observe.Kinds, observe.Kind(head.Kind)) {
			return d.addRecord(head, line)
		}
	}
	return nil
}

func (d *decoder) addChange(line []byte) error {
	if d.last == nil {
		return errors.New("it changes a snapshot that is missing")
	}
	var c stateChange
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if err := d.last.apply(&c); err != nil {
		return err
	}
	d.addState(state{at: c.Time, change: &c})
	return nil
}

func (d *decoder) addState(s state) {
	if n := len(d.recording.states); n > 0 && s.at.Before(d.recording.states[n-1].at) {
		s.at = d.recording.states[n-1].at // the clock was set back
	}
	s.first = d.session
	d.recording.HasProblems = d.recording.HasProblems || len(d.last.last.Problems) > 0 // versions that record them without saying so
	d.recording.states = append(d.recording.states, s)
	d.recording.stopping = append(d.recording.stopping, d.last.last.Process.State == observe.Stopping)
}

func (d *decoder) addRecord(head lineHead, line []byte) error {
	if head.Seq == 0 {
		return errors.New("a record without a seq")
	}
	var r observe.Record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if err := checkRecord(&r); err != nil {
		return err
	}
	all := d.recording.records
	d.late = d.late || len(all) > d.session && r.Seq <= all[len(all)-1].Seq
	d.recording.records = append(all, r)
	return nil
}

// endSession ends what was recorded of a process.
func (d *decoder) endSession() {
	d.sortSession()
	d.session = len(d.recording.records)
	d.recording.sessions = append(d.recording.sessions, d.session)
	d.last = nil
}

// sortSession puts the records in order, each once: a file of a recording whose older
// files are removed begins with some of theirs.
func (d *decoder) sortSession() {
	if !d.late {
		return
	}
	of := d.recording.records[d.session:]
	slices.SortStableFunc(of, func(a, b observe.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	of = slices.CompactFunc(of, func(a, b observe.Record) bool { return a.Seq == b.Seq })
	d.recording.records, d.late = d.recording.records[:d.session+len(of)], false
}

// finish returns the recording.
func (d *decoder) finish() (*Recording, error) {
	d.sortSession()
	r := &d.recording
	if len(r.records) == 0 && len(r.states) == 0 {
		return nil, fmt.Errorf("it has no records: the control plane had not started")
	}
	r.times = make([]time.Time, len(r.records))
	var last time.Time
	for i := range r.records {
		if r.records[i].Time.After(last) {
			last = r.records[i].Time
		}
		r.times[i] = last
	}
	switch { // records of an earlier time are there for what they caused
	case len(r.states) > 0:
		r.begin, r.end = r.states[0].at, r.states[len(r.states)-1].at
	default:
		r.begin, r.end = r.times[0], last
	}
	if last.After(r.end) {
		r.end = last
	}
	return r, nil
}
