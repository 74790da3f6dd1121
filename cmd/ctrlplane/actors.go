package main

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// actors is what the verbs that intervene are for: controllers or clients. The verbs of
// both are the same.
type actors struct {
	verb, noun    string // "controllers", "controller"
	examples      [2]string
	interventions func(*controlrest.Client) control.Interventions
	// splitNames says that names may be separated by commas, and have no other
	// punctuation. The names of clients may have any.
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
	switch {
	case all && len(args) > 0:
		return nil, usage.Errorf("%s %s: %s names and --all exclude each other: use one of them", a.verb, verb, a.noun)
	case all:
		return []string{control.AllControllers}, nil
	case len(args) == 0 || slices.Contains(args, ""):
		return nil, usage.Errorf(`%s %s: missing %s name: "ctrlplane %[1]s" lists them`, a.verb, verb, a.noun)
	case !a.splitNames:
		return args, nil
	case strings.ContainsAny(strings.Join(args, ""), "/?#%*"):
		return nil, usage.Errorf(`%s %s: unknown %s %q: "ctrlplane %[1]s" lists them`, a.verb, verb, a.verb, args)
	}
	return strings.Split(strings.Join(args, ","), ","), nil
}
