package replay

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A pause does not begin another state of a controller's process, which the pause hides.
func TestStateBehindAPauseFromRecords(t *testing.T) {
	off := observe.ControllerChanged{Controller: "operator/site", State: observe.StateOff, Gone: observe.GoneEnded}
	paused := observe.ControllerChanged{Controller: off.Controller, State: observe.StatePaused, Process: observe.StateOff, Gone: off.Gone}
	r := &Recording{records: []observe.Record{{Seq: 1, Time: at(0), Event: &off}, {Seq: 2, Time: at(time.Second), Event: &paused}}}
	s := (&Moment{recording: r, position: Position{At: at(time.Second), records: 2}}).fromRecords()
	if c := s.Controllers[0]; c.State != observe.StatePaused || c.ProcessState() != observe.StateOff || c.Gone != observe.GoneEnded || !c.Since.Equal(at(0)) {
		t.Errorf("%+v", c)
	}
}
