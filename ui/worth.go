package ui

import (
	"net/http"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Worth says where a record is shown.
type Worth int

// What a record is worth.
const (
	Hidden Worth = iota
	Detail       // what a page of a controller or object shows, and a list of everything
	Line         // a line in every list
)

// WorthOf says what an event is worth, in the plain output, the live view and the web page. A line is worth what changes
// something or has failed. Reads, Leases, Events of type Normal and what else happens all the time are not, nor is an error in
// the log of a sync that has failed.
func WorthOf(e observe.Event) Worth {
	switch e := e.(type) {
	case *observe.BootStep, *observe.ControllerChanged:
		return Line
	case *observe.Called:
		return worthOfCall(e)
	case *observe.Synced:
		return lineIf(e.Failed())
	case *observe.Logged:
		return lineIf(IsLoggedProblem(e) || e.Controller == observe.Own) // such as a restore, the speed
	case *observe.Delivered:
		if e.Change != observe.Resynced {
			return Detail
		}
	}
	return Hidden
}

func worthOfCall(c *observe.Called) Worth {
	switch {
	case c.Event.IsWarning():
		return Line
	case !c.IsWrite() && !c.IsFailure():
		return Hidden
	case c.IsRoutine(), isAbsence(c):
		return Detail
	}
	return lineIf(c.IsFailure() || !isNodeStatus(c))
}

// isAbsence reports whether a call has found that an object does not exist: its caller expects that it may not.
func isAbsence(c *observe.Called) bool {
	return c.Verb == "get" && c.Status == http.StatusNotFound && !c.IsInjected()
}

// isNodeStatus reports whether a call is the status of a Node that its simulated kubelet writes: every few minutes, for each node.
func isNodeStatus(c *observe.Called) bool {
	return c.Controller == controllernames.SimulatedKubelet && c.Object.Resource == "nodes" && c.Object.Group == "" && c.Subresource == "status"
}

// IsLoggedProblem reports whether a line of a log is a warning, or an error that no failed sync repeats.
func IsLoggedProblem(l *observe.Logged) bool { return l.IsWarning() || l.IsError() && l.Sync == 0 }

func lineIf(is bool) Worth {
	if is {
		return Line
	}
	return Detail
}
