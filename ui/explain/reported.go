package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ReportedPage returns the page of a controller that a client reports: the name is
// PROGRAM/CONTROLLER, or one of these if only one controller has it, of those that run if one does.
// What it decides is known to its author only.
func ReportedPage(s *observe.Snapshot, name string) (Page, bool) {
	if s == nil {
		return Page{}, false
	}
	var found, live []Page
	for _, c := range s.Clients {
		program := observe.ProgramOf(c.Name)
		for _, controller := range c.Controllers {
			switch {
			case controller == name:
				return reportedPage(c, controller), true
			case strings.HasSuffix(controller, "/"+name), program == name:
				page := reportedPage(c, controller)
				found = append(found, page)
				if isLive(s, controller) {
					live = append(live, page)
				}
			}
		}
	}
	if len(live) > 0 {
		found = live
	}
	if len(found) != 1 {
		return Page{}, false
	}
	return found[0], true
}

// isLive reports whether a process reports the controller.
func isLive(s *observe.Snapshot, controller string) bool {
	return slices.ContainsFunc(s.Controllers, func(c observe.Controller) bool {
		return c.Name == controller && c.ProcessState() != observe.StateOff && c.ProcessState() != observe.StateUnknown
	})
}

func reportedPage(c observe.Client, controller string) Page {
	queue := controller[strings.LastIndexByte(controller, '/')+1:]
	return Page{
		Name: controller, Group: "operators",
		Purpose: fmt.Sprintf("A controller of the client %s, another process. It reports what it does: with the instrument module, or as ctrlplane reconcile, which runs a command for each key.", c.Name),
		Queues:  map[string]string{queue: "the object that is reconciled"},
		Decides: []string{"Its source is not known here: trace and why show what it has done, and because of what."},
		Here:    []string{"Pause, step, delay and fail act in the API server, on the calls of its syncs. It cannot be stopped, started or scaled from here."},
		Fails:   []Failure{{"A key fails again and again", "its reconciler returns an error, or the command of ctrlplane reconcile exits with a code other than 0: status and the view show it, with the time of the next attempt"}},
		As:      serviceAccounts(c.User),
	}
}

// serviceAccounts returns the user if its roles can be looked up: another one may have
// them by its groups.
func serviceAccounts(user string) []string {
	if !strings.HasPrefix(user, "system:serviceaccount:") {
		return nil
	}
	return []string{user}
}
