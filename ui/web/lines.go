package web

import (
	"context"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// lineWriter writes the lines of "top --ui json" to a hub, which also gets each snapshot.
type lineWriter struct {
	*ui.JSONWriter
	hub *hub
}

// WriteSnapshot keeps the status of each snapshot, and the line of one that has changed.
func (w lineWriter) WriteSnapshot(_ context.Context, s observe.Snapshot) error {
	w.hub.setStatus(s)
	changed := w.ChangedSnapshot(s)
	if changed == nil {
		return nil
	}
	line, err := ui.EncodeLine(changed)
	if err != nil {
		return err
	}
	w.hub.keepSnapshot(line)
	return w.WriteLine(changed)
}
