package main

import (
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/cliargs"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// actors is what the verbs that intervene are for: controllers or clients. The verbs of
// both are the same.
type actors struct {
	verb, noun    string // "controllers", "controller"
	examples      [2]string
	interventions func(*controlrest.Client) control.Interventions
	// splitNames says that names may be separated by commas or be short names of
	// kubectl. The names of clients may have any punctuation.
	splitNames bool
}

var (
	controllerActors = actors{
		verb: "controllers", noun: "controller", examples: [2]string{"replicaset", "job-controller cronjob"},
		interventions: (*controlrest.Client).Interventions, splitNames: true,
	}
	clientActors = actors{
		verb: "clients", noun: "client", examples: [2]string{"shop-operator", `"shop-operator (system:serviceaccount:shop:operator)"`},
		interventions: (*controlrest.Client).ClientInterventions,
	}
)

// parseNames returns the names in the arguments.
func (a actors) parseNames(verb string, args []string, all bool) ([]string, error) {
	if !a.splitNames {
		return cliargs.ClientNames(verb, args, all)
	}
	names, err := cliargs.ControllerNames(verb, args, all)
	for i, name := range names {
		names[i] = a.expandName(name)
	}
	return names, err
}

// parseDelay returns the names and the delay in NAME… DURATION.
func (a actors) parseDelay(args []string, all bool) ([]string, time.Duration, error) {
	args, d, err := cliargs.Delay(a.verb, a.noun, args)
	if err != nil {
		return nil, 0, err
	}
	names, err := a.parseNames("delay", args, all)
	return names, d, err
}

// expandName replaces a short name of kubectl by the name of the controller.
func (a actors) expandName(name string) string {
	if !a.splitNames {
		return name
	}
	return explain.ExpandShortName(name)
}
