package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ReportedPage returns the page of a controller that a client reports: the name is
// PROGRAM/CONTROLLER, or CONTROLLER if only one client has it. What it decides is known
// to its author only.
func ReportedPage(s *observe.Snapshot, name string) (Page, bool) {
	if s == nil {
		return Page{}, false
	}
	var found []Page
	for _, c := range s.Clients {
		for _, controller := range c.Controllers {
			if controller == name || strings.HasSuffix(controller, "/"+name) {
				found = append(found, reportedPage(c, controller))
			}
		}
	}
	if i := slices.IndexFunc(found, func(p Page) bool { return p.Name == name }); i >= 0 {
		return found[i], true
	}
	if len(found) != 1 {
		return Page{}, false
	}
	return found[0], true
}

func reportedPage(c observe.Client, controller string) Page {
	queue := controller[strings.LastIndexByte(controller, '/')+1:]
	return Page{
		Name: controller, Group: "operators",
		Purpose: fmt.Sprintf("A controller of the client %s, another process. It reports what it does with the instrument module.", c.Name),
		Queues:  map[string]string{queue: "the object that is reconciled"},
		Decides: []string{"Its source is not known here: trace and why show what it has done, and because of what."},
		Here:    []string{"Pause, step, delay and fail act in the API server, on the calls of its syncs. It cannot be stopped, started or scaled from here."},
		Fails:   []Failure{{"A key fails again and again", "its reconciler returns an error: status and the view show it, with the time of the next attempt"}},
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
