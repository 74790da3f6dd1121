package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Line is a record in one line for people: the time, who, what, and how that
// went, two spaces between them.
func Line(r observe.Record) string {
	var fields []string
	switch e := r.Event.(type) {
	case *observe.BootStep:
		fields = []string{"start", e.Step, took(e.Took), e.Error}
	case *observe.ControllerChanged:
		fields = []string{e.Controller, "is " + e.State, e.Reason}
	case *observe.QueueChanged:
		fields = []string{e.Controller, "queue", e.Queue, fmt.Sprintf("depth %d (at most %d), %d in flight, %d adds, %d done, %d retries",
			e.Depth, e.MaxDepth, e.InFlight, e.Adds, e.Done, e.Retries)}
	case *observe.Delivered:
		fields = []string{e.Controller, string(e.Change), e.Object.String(), queued(e.Queues), took(e.Took)}
	case *observe.Called:
		fields = []string{e.Controller, e.Verb, called(e), status(e.Status), took(e.Took), trouble(e)}
	case *observe.Synced:
		fields = []string{e.Controller, "sync", synced(e), outcome(e), took(e.Took), e.Error}
	case *observe.Logged:
		fields = []string{e.Controller, level(e.Level), e.Message, attrs(e.Attrs)}
	}
	return columnsOf(append([]string{clock(r.Time)}, fields...))
}

// columnsOf makes a line of what is there of the fields.
func columnsOf(fields []string) string {
	var line []string
	for _, f := range fields {
		if f = oneLine(f); f != "" {
			line = append(line, f)
		}
	}
	return strings.Join(line, "  ")
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// took is a duration as one word, so that a line can be cut into columns.
func took(d time.Duration) string { return strings.ReplaceAll(duration(d), " ", "") }

func queued(queues []string) string {
	if len(queues) == 0 {
		return ""
	}
	return "queued in " + strings.Join(queues, ", ")
}

func called(e *observe.Called) string {
	if e.Subresource == "" {
		return e.Object.String()
	}
	return e.Object.String() + " (" + e.Subresource + ")"
}

func status(code int) string {
	if code == 0 {
		return "no answer"
	}
	return strconv.Itoa(code)
}

// trouble is why a call was in vain.
func trouble(e *observe.Called) string {
	switch {
	case e.Conflict && e.Error == "":
		return "conflict"
	case e.Conflict:
		return "conflict: " + e.Error
	}
	return e.Error
}

func synced(e *observe.Synced) string {
	key := e.Key
	switch {
	case key == "":
		key = "unknown key"
	case e.KeyBasis.Inferred():
		key = "likely " + key
	}
	return e.Queue + ": " + key
}

func outcome(e *observe.Synced) string {
	switch {
	case e.Error != "" && e.Retried:
		return "failed, will retry"
	case e.Error != "":
		return "failed"
	case e.Retried:
		return "will retry"
	}
	return "done"
}

func level(n int) string {
	switch {
	case n >= 8:
		return "error"
	case n >= 4:
		return "warning"
	case n >= 0:
		return "info"
	}
	return "debug"
}

func attrs(list []observe.Attr) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.Key + "=" + a.Value
		if strings.ContainsAny(a.Value, " \t\n\"") {
			words[i] = a.Key + "=" + strconv.Quote(a.Value)
		}
	}
	return strings.Join(words, " ")
}
