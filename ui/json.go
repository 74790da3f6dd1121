package ui

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// JSONWriter writes every record as one JSON object per line.
type JSONWriter struct {
	lines     lineBuffer
	lastState snapshotState
}

// NewJSONWriter returns a writer to w, which receives whole lines.
func NewJSONWriter(w io.Writer) *JSONWriter { return &JSONWriter{lines: lineBuffer{w: w}} }

// Flush writes the lines.
func (j *JSONWriter) Flush() error { return j.lines.flush() }

type snapshotLine struct {
	Kind    string          `json:"kind"`
	Time    time.Time       `json:"time"`
	Process observe.Process `json:"process"`
	Queues  []observe.Queue `json:"queues"`
}

// WriteHeader writes the first line.
func (j *JSONWriter) WriteHeader(now time.Time) error { return j.WriteLine(replay.NewHeader(now)) }

// RecordQuery selects all records.
func (*JSONWriter) RecordQuery() observe.Query { return observe.Query{Reads: true} }

// WriteRecord writes a record.
func (j *JSONWriter) WriteRecord(r observe.Record) error { return j.WriteLine(r) }

// WriteNotice writes a notice.
func (j *JSONWriter) WriteNotice(n Notice) error { return j.WriteLine(n) }

// WriteSnapshot writes a snapshot that differs from the previous one.
func (j *JSONWriter) WriteSnapshot(_ context.Context, s observe.Snapshot) error {
	line := j.ChangedSnapshot(s)
	if line == nil {
		return nil
	}
	return j.WriteLine(line)
}

// ChangedSnapshot returns the line of a snapshot that differs from the previous one; nil if it does not.
func (j *JSONWriter) ChangedSnapshot(s observe.Snapshot) any {
	m := snapshotStateOf(s)
	if m.process == j.lastState.process && slices.Equal(m.queues, j.lastState.queues) {
		return nil
	}
	j.lastState = m
	return newSnapshotLine(s)
}

func newSnapshotLine(s observe.Snapshot) snapshotLine {
	line := snapshotLine{"snapshot", s.Time, s.Process, append([]observe.Queue{}, s.Queues...)}
	for i := range line.Queues {
		line.Queues[i].History = nil // earlier lines contain it
	}
	return line
}

// WriteLine writes a value as one line.
func (j *JSONWriter) WriteLine(v any) error {
	line, err := EncodeLine(v)
	if err == nil {
		j.lines.add(line)
	}
	return err
}

// EncodeLine returns a value as a line of JSON that may be written to a terminal.
func EncodeLine(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(words.EscapeJSON(data), '\n'), nil
}

// snapshotState holds the parts of a snapshot whose change is worth a line. It
// leaves out values that change in an idle process, such as memory.
type snapshotState struct {
	process processState
	queues  []queueState
}

type processState struct {
	valid   bool
	state   observe.State
	settled bool
	started int64
}

type queueState struct {
	controller, name                              string
	depth, inFlight, adds, done, retries, delayed int64
	addRate, doneRate                             float64
}

func snapshotStateOf(s observe.Snapshot) snapshotState {
	m := snapshotState{process: processState{true, s.Process.State, s.Process.Settled, s.Process.Started.UnixNano()}}
	for _, q := range s.Queues {
		m.queues = append(m.queues, queueState{
			q.Controller, q.Name, q.Depth, q.InFlight, q.Adds, q.Done, q.Retries, q.Delayed, q.AddRate, q.DoneRate,
		})
	}
	return m
}
