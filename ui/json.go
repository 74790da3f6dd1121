package ui

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// jsonVersion is that of the form; docs/json.md describes it. It is raised when
// a field or a kind changes its meaning or goes, not when one is added.
const jsonVersion = 1

// jsonLines writes everything, an object a line.
type jsonLines struct {
	w    io.Writer
	last moment
}

type header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
}

type snapshotLine struct {
	Kind    string          `json:"kind"`
	Time    time.Time       `json:"time"`
	Process observe.Process `json:"process"`
	Queues  []observe.Queue `json:"queues"`
}

func (j *jsonLines) begin(now time.Time) error {
	return j.line(header{"ctrlplane", jsonVersion, now})
}

func (*jsonLines) query() observe.Query { return observe.Query{Reads: true} }

func (j *jsonLines) record(r observe.Record) error { return j.line(r) }

func (j *jsonLines) say(n notice) error { return j.line(n) }

// snapshot writes those that differ from the one before.
func (j *jsonLines) snapshot(s observe.Snapshot) error {
	m := momentOf(s)
	if m.state == j.last.state && slices.Equal(m.queues, j.last.queues) {
		return nil
	}
	j.last = m
	return j.line(newSnapshotLine(s))
}

func newSnapshotLine(s observe.Snapshot) snapshotLine {
	line := snapshotLine{"snapshot", s.Time, s.Process, append([]observe.Queue{}, s.Queues...)}
	for i := range line.Queues {
		line.Queues[i].History = nil // whoever reads the lines has it
	}
	return line
}

func (j *jsonLines) line(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = j.w.Write(append(data, '\n'))
	return err
}

// moment is what of a snapshot counts as a change. What moves in an idle
// process too, such as its memory, does not.
type moment struct {
	state  processMoment
	queues []queueMoment
}

type processMoment struct {
	seen    bool
	state   observe.State
	settled bool
	started int64
}

type queueMoment struct {
	controller, name                              string
	depth, inFlight, adds, done, retries, delayed int64
	addRate, doneRate                             float64
}

func momentOf(s observe.Snapshot) moment {
	m := moment{state: processMoment{true, s.Process.State, s.Process.Settled, s.Process.Started.UnixNano()}}
	for _, q := range s.Queues {
		m.queues = append(m.queues, queueMoment{
			q.Controller, q.Name, q.Depth, q.InFlight, q.Adds, q.Done, q.Retries, q.Delayed, q.AddRate, q.DoneRate,
		})
	}
	return m
}
