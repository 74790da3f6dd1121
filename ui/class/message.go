// Package class shows a teacher the progress of the students that take part: each sends a
// Message when a step of a lesson begins, by a line in a shared file or by HTTP. There are
// no accounts. What a student sends is shown, so it is cleaned and bounded first.
package class

import (
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	// maxMessage is the length of an encoded message.
	maxMessage = 2 << 10
	// maxName is the number of columns of a name.
	maxName = 24
	// maxSteps is the number of steps that a lesson can have.
	maxSteps = 999
)

// Message is the progress of a student.
type Message struct {
	Student string    `json:"student"`
	Lesson  string    `json:"lesson"` // its name, such as 03-queue
	Step    int       `json:"step"`   // that has begun, from 1
	Of      int       `json:"of"`     // the number of steps
	State   State     `json:"state"`
	Time    time.Time `json:"time"`
}

// State is what a student does.
type State string

// The states of a student.
const (
	Working State = "working"
	Done    State = "done"
	Left    State = "left"
)

var errMessage = errors.New("not a progress message")

// parseMessage parses what a student has sent. Texts are safe to show afterwards. Its time is that of the
// student's clock, which may be another one than the teacher's.
func parseMessage(data []byte, now time.Time) (Message, error) {
	var m Message
	if len(data) > maxMessage || json.Unmarshal(data, &m) != nil {
		return m, errMessage
	}
	m.Student, m.Lesson = cleanName(m.Student), cleanName(m.Lesson)
	switch {
	case m.Student == "" || m.Lesson == "" || m.Of < 1 || m.Of > maxSteps || m.Step < 1 || m.Step > m.Of:
		return m, errMessage
	case m.State != Working && m.State != Done && m.State != Left:
		return m, errMessage
	}
	if m.Time.IsZero() || m.Time.After(now) {
		m.Time = now
	}
	return m, nil
}

// cleanName returns a name without what could change the terminal, and not wider than a
// column of the table.
func cleanName(name string) string {
	return ansi.Truncate(words.OneLine(ansi.Strip(name)), maxName, "…")
}

// IsAddress reports whether a target is HOST:PORT, not a file.
func IsAddress(target string) bool {
	host, port, err := net.SplitHostPort(target)
	if err != nil || strings.ContainsAny(host, `/\`) {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
