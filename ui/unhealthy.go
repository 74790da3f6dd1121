package ui

import (
	"io"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// WriteUnhealthy writes a table of objects in width columns; nothing if there are none.
func WriteUnhealthy(w io.Writer, list []control.UnhealthyObject, now time.Time, width int) error {
	rows := [][]string{{"OBJECT", "STATE", "WHY"}}
	for _, o := range list {
		why := o.Reason
		if !o.Since.IsZero() {
			why = "for " + formatUptime(max(now.Sub(o.Since), 0)) + ": " + why
		}
		state := strings.ToLower(o.State)
		if o.State == "InProgress" {
			state = "not ready"
		}
		rows = append(rows, []string{o.Object.String(), state, why})
	}
	_, err := io.WriteString(w, formatWrapped(rows, width))
	return err
}
