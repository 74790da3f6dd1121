// Package cliargs parses the arguments with which verbs name objects and controllers.
package cliargs

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Object returns the kind and the name in KIND/NAME or KIND NAME. Verb is the command that
// the error shows as an example.
func Object(verb string, args []string) (kind, name string, err error) {
	switch len(args) {
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" || strings.Contains(kind+name, "/") {
		return "", "", usage.Errorf(`%q does not name an object: use KIND/NAME, as in "%s deployment/web"`, args, verb)
	}
	return kind, name, nil
}

// ControllerNames returns the names in the arguments, which may be separated by commas, or
// control.AllControllers. Whether there are such controllers is not checked.
func ControllerNames(verb string, args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usage.Errorf("controllers %s: controller names and --all exclude each other: use one of them", verb)
	case all:
		return []string{control.AllControllers}, nil
	case strings.ContainsAny(strings.Join(args, ""), "/?#%*"):
		return nil, usage.Errorf(`controllers %s: unknown controllers %q: "ctrlplane controllers" lists them`, verb, args)
	}
	names := strings.Split(strings.Join(args, ","), ",")
	if slices.Contains(names, "") {
		return nil, usage.Errorf(`controllers %s: missing controller name: "ctrlplane controllers" lists them`, verb)
	}
	return names, nil
}

// Delay returns the names and the delay in NAME… DURATION.
func Delay(args []string, all bool) (names []string, d time.Duration, err error) {
	if len(args) == 0 {
		return nil, 0, usage.Errorf("controllers delay: missing controller name and duration: write NAME 500ms")
	}
	last := len(args) - 1
	if d, err = time.ParseDuration(args[last]); err != nil {
		return nil, 0, usage.Errorf("controllers delay: %q is not a duration: write one such as 500ms or 2s after the names", args[last])
	}
	if d <= 0 {
		return nil, 0, usage.Errorf(`controllers delay: %v is not positive: use a longer delay, or "ctrlplane controllers clear"`, d)
	}
	names, err = ControllerNames("delay", args[:last], all)
	return names, d, err
}
