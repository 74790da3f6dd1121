package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// WriteUnhealthy writes a table of objects in width columns; nothing if there are none. Those of one owner with the same reason
// have one row.
func WriteUnhealthy(w io.Writer, list []control.UnhealthyObject, now time.Time, width int) error {
	rows := [][]string{{"OBJECT", "STATE", "WHY"}}
	list, others := joinSiblings(list)
	for i, o := range list {
		why := o.Reason + describeSiblings(o, others[i])
		if !o.Since.IsZero() {
			why = "for " + formatUptime(max(now.Sub(o.Since), 0)) + ": " + why
		}
		state := strings.ToLower(o.State)
		if name := stateNames[o.State]; name != "" {
			state = name
		}
		rows = append(rows, []string{o.Object.String(), state, why})
	}
	_, err := io.WriteString(w, formatWrapped(rows, width, minReason))
	return err
}

// stateNames are the states that have another name here than for kstatus.
var stateNames = map[string]string{"InProgress": "not ready", "Current": "ready"}

// joinSiblings returns the first of the objects of each owner that have the same reason but for their names and UIDs, and how many
// others each stands for.
func joinSiblings(list []control.UnhealthyObject) (first []control.UnhealthyObject, others []int) {
	known := map[control.UnhealthyObject]int{}
	for _, o := range list {
		like := o
		like.Object.Name, like.Reason = "", uid.ReplaceAllString(strings.ReplaceAll(o.Reason, o.Object.Name, ""), "")
		at, found := known[like]
		if found && o.Owner != (observe.Object{}) {
			others[at]++
			continue
		}
		known[like] = len(first)
		first, others = append(first, o), append(others, 0)
	}
	return first, others
}

func describeSiblings(o control.UnhealthyObject, others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %s of %s %s)", CountNoun(int64(others), "other "+o.Object.Kind), o.Owner.Kind, o.Owner.Name)
}
