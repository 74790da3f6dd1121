package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Intervention is a manual change of a running controller, or of what a client does.
type Intervention struct {
	Controller string // or the client
	State      string // paused, stopped or running
	Reason     string // the intervention in a few words; may be empty
	Set        observe.Interventions
	Held       int  // held writes
	OfClient   bool // Controller names a client
}

// String describes the intervention in a few words.
func (i Intervention) String() string {
	state := " is " + i.State
	if i.State == observe.StateRunning { // which does not sound like a change
		state = " has an intervention"
	}
	if i.Reason == "" {
		return WithHeld(i.Controller+state, i.Held)
	}
	return i.Controller + state + ": " + WithHeld(i.Reason, i.Held)
}

// Count returns how many interventions it consists of: a pause, a delay, a fault, a stop, and a number of workers are one each.
func (i Intervention) Count() (n int) {
	for _, is := range []bool{i.State == observe.StatePaused, i.State == stateStopped, i.Set.Delay > 0, i.Set.Fault.Rate > 0, i.Set.Workers > 0} {
		if is {
			n++
		}
	}
	return max(n, 1) // an earlier version says only that there is something
}

// stateStopped is the state of an intervention in a controller that is off because it was stopped.
const stateStopped = "stopped"

// Undo returns the verbs that end the intervention, with the arguments that follow the
// name: the number of workers stays when the rest is cleared.
func (i Intervention) Undo() (verbs [][2]string) {
	isPaused := i.State == observe.StatePaused
	switch {
	case i.State == stateStopped:
		verbs = append(verbs, [2]string{"start"})
	case i.Set.AffectCalls(), !isPaused && i.Set == observe.Interventions{}: // an earlier version says only that there is something
		verbs = append(verbs, [2]string{"clear"}) // first, so that released writes do not wait
	}
	if isPaused {
		verbs = append(verbs, [2]string{"resume"})
	}
	if i.Set.Workers > 0 {
		verbs = append(verbs, [2]string{"scale", " --workers " + strconv.Itoa(i.Set.ConfiguredWorkers)})
	}
	return verbs
}

// StopVerb returns what can be done about the run of a controller: remove it if its process has ended, start it if it is off
// or has failed, or else stop it. It is empty if the controller is of another process, which runs.
func StopVerb(c *observe.Controller) string {
	switch {
	case c.HasEnded():
		return control.Remove
	case observe.IsReported(c.Name):
		return ""
	case c.State == observe.StateOff || c.State == observe.StateFailed:
		return control.Start
	}
	return control.Stop
}

// WithHeld says in a reason how many writes are held, if any are.
func WithHeld(reason string, held int) string {
	if held <= 0 {
		return reason
	}
	count := map[bool]string{true: " is held", false: " are held"}[held == 1]
	count = CountNoun(held, "write") + count
	if rest, ok := strings.CutPrefix(reason, observe.WritesHeld); ok {
		return count + rest
	}
	return reason + " (" + count + ")"
}

// Interventions returns the interventions on the controllers and clients of a snapshot.
// One has an intervention if it is paused, runs with a reason, or is off because it was
// stopped.
func Interventions(s observe.Snapshot) []Intervention {
	var found []Intervention
	for _, c := range s.Controllers {
		switch {
		case !c.HasIntervention():
		case c.State != observe.StateOff:
			found = append(found, Intervention{Controller: words.OneLine(c.Name), State: c.State, Reason: words.OneLine(c.Reason), Set: c.Interventions, Held: c.Held})
		case s.Process.State != observe.Stopping: // all are, then
			found = append(found, Intervention{Controller: words.OneLine(c.Name), State: stateStopped})
		}
	}
	for _, c := range s.Clients {
		if c.HasIntervention() {
			found = append(found, Intervention{Controller: words.OneLine(c.Name), State: c.State, Reason: words.OneLine(c.Reason), Set: c.Interventions, Held: c.Held, OfClient: true})
		}
	}
	return found
}

// InterventionsFor returns the interventions that may be why an object, whose resource is RESOURCE or RESOURCE.GROUP,
// is not healthy. Nothing waits for a controller that is only paused and holds no write. What a Node
// reports does not depend on controllers that neither watch nor write Nodes. Of other objects all
// other interventions are returned: they may wait for objects that others create.
func InterventionsFor(s observe.Snapshot, resource string) []Intervention {
	all := slices.DeleteFunc(Interventions(s), Intervention.holdsNothing)
	if resource != "nodes" {
		return all
	}
	return slices.DeleteFunc(all, func(i Intervention) bool { return !i.mayTouch(s, resource) })
}

// interventionsOn returns the interventions of InterventionsFor in clients and in controllers that watch or write a
// resource of one of the objects.
func interventionsOn(s observe.Snapshot, objects []observe.Object) []Intervention {
	return slices.DeleteFunc(InterventionsFor(s, objects[0].GroupResource()), func(i Intervention) bool {
		return !slices.ContainsFunc(objects, func(o observe.Object) bool { return i.mayTouch(s, o.GroupResource()) })
	})
}

// mayTouch reports whether an intervention is not one in a controller that neither watches nor writes a resource.
func (i Intervention) mayTouch(s observe.Snapshot, resource string) bool {
	at := slices.IndexFunc(s.Controllers, func(c observe.Controller) bool { return words.OneLine(c.Name) == i.Controller })
	return at < 0 || touches(&s.Controllers[at], resource)
}

// holdsNothing reports whether a pause is the only intervention, and no write waits for it. Clients,
// and the controllers that they report, stop waiting after a while and try again later.
func (i Intervention) holdsNothing() bool {
	isOutside := i.OfClient || observe.IsReported(i.Controller)
	return !isOutside && i.State == observe.StatePaused && i.Held == 0 && i.Set == observe.Interventions{Paused: true}
}

// touches reports whether a controller watches a resource, or has written it. Of one without either, nothing is known.
func touches(c *observe.Controller, resource string) bool {
	writes := func(w observe.WriteCount) bool {
		written, _, _ := strings.Cut(w.Resource, "/")
		return written == resource
	}
	return len(c.Watches)+len(c.Writes) == 0 || slices.Contains(c.Watches, resource) || slices.ContainsFunc(c.Writes, writes)
}

// summarizeInterventions names the controllers with an intervention; empty if
// there are none.
func summarizeInterventions(s observe.Snapshot) string {
	var names []string
	for _, i := range Interventions(s) {
		state := i.State
		if i.State == observe.StateRunning {
			state = i.Reason
		}
		names = append(names, fmt.Sprintf("%s (%s)", i.Controller, state))
	}
	if len(names) == 0 {
		return ""
	}
	return "changed manually: " + words.First(names, maxNamed)
}
