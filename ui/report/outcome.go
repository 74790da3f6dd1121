package report

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is how a run went.
type Outcome struct {
	Command []string
	Code    int   // the exit code
	Err     error // what ctrlplane has to say about it; nil if nothing
	Began   time.Time
	Took    time.Duration
	Stages  []Stage // of the run besides the start: the command, the end
}

func (o *Outcome) hasFailed() bool { return o.Code != 0 || o.Err != nil }

// signalNumber is the one that an exit code stands for, 0 if for none.
func (o *Outcome) signalNumber() int {
	if n := o.Code - 128; 0 < n && n < 32 {
		return n
	}
	return 0
}

// verdict is a few words.
func (o *Outcome) verdict() string {
	switch {
	case !o.hasFailed():
		return "passed"
	case o.Code == 124 && o.Err != nil:
		return "timed out"
	case o.signalNumber() > 0:
		return fmt.Sprintf("ended by signal %d", o.signalNumber())
	}
	return fmt.Sprintf("failed with exit code %d", o.Code)
}

// reasonLine is more of it, in a line; empty if the command passed.
func (o *Outcome) reasonLine() string {
	switch {
	case o.Err != nil:
		return oneLine(o.Err.Error())
	case o.Code != 0:
		return fmt.Sprintf("the command ended with exit code %d", o.Code)
	}
	return ""
}

// commandLine is the command as one would write it.
func (o *Outcome) commandLine() string {
	words := make([]string, len(o.Command))
	for i, w := range o.Command {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`|&;<>()*?[]#~!{}") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
