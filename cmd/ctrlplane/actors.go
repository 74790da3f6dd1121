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
	plural, noun  string // "controllers", "controller"
	examples      [2]string
	interventions func(*controlrest.Client) control.Interventions
	ofClients     bool
}

var (
	controllerActors = actors{
		plural: "controllers", noun: "controller", examples: [2]string{"replicaset", "job-controller cronjob"},
		interventions: (*controlrest.Client).Interventions,
	}
	clientActors = actors{
		plural: "clients", noun: "client", examples: [2]string{"shop-operator", `"shop-operator (system:serviceaccount:shop:operator)"`},
		interventions: (*controlrest.Client).ClientInterventions, ofClients: true,
	}
)

// parseNames returns the names in the arguments. Those of controllers may be separated by commas or be short names of
// kubectl; those of clients may have any punctuation.
func (a actors) parseNames(verb string, args []string, all bool) ([]string, error) {
	if a.ofClients {
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
	args, d, err := cliargs.Delay(a.plural, a.noun, args)
	if err != nil {
		return nil, 0, err
	}
	names, err := a.parseNames("delay", args, all)
	return names, d, err
}

// expandName replaces a short name of kubectl by the name of the controller.
func (a actors) expandName(name string) string {
	if a.ofClients {
		return name
	}
	return explain.ExpandShortName(name)
}
