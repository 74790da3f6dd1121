package ui

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// jsonWriter writes every record as one JSON object per line.
type jsonWriter struct {
	w         io.Writer
	lastState snapshotState
}

type snapshotLine struct {
	Kind    string          `json:"kind"`
	Time    time.Time       `json:"time"`
	Process observe.Process `json:"process"`
	Queues  []observe.Queue `json:"queues"`
}

func (j *jsonWriter) writeHeader(now time.Time) error {
	return j.writeLine(replay.NewHeader(now))
}

func (*jsonWriter) recordQuery() observe.Query { return observe.Query{Reads: true} }

func (j *jsonWriter) writeRecord(r observe.Record) error { return j.writeLine(r) }

func (j *jsonWriter) writeNotice(n Notice) error { return j.writeLine(n) }

// writeSnapshot writes a snapshot that differs from the previous one.
func (j *jsonWriter) writeSnapshot(s observe.Snapshot) error {
	m := snapshotStateOf(s)
	if m.process == j.lastState.process && slices.Equal(m.queues, j.lastState.queues) {
		return nil
	}
	j.lastState = m
	return j.writeLine(newSnapshotLine(s))
}

func newSnapshotLine(s observe.Snapshot) snapshotLine {
	line := snapshotLine{"snapshot", s.Time, s.Process, append([]observe.Queue{}, s.Queues...)}
	for i := range line.Queues {
		line.Queues[i].History = nil // earlier lines contain it
	}
	return line
}

func (j *jsonWriter) writeLine(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = j.w.Write(append(words.EscapeJSON(data), '\n'))
	return err
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
