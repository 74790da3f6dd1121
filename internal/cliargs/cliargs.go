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
	if len(args) == 0 {
		return "", "", usage.Errorf(`an object is missing: use KIND/NAME, as in "%s deployment/web"`, verb)
	}
	if namespace, inIt, ok := strings.Cut(name, "/"); ok && kind != "" && namespace != "" && inIt != "" { // as messages name it
		return "", "", usage.Errorf(`%s/%s: name the namespace with a flag, as in "%s %s/%s -n %s"`, kind, name, verb, kind, inIt, namespace)
	}
	if kind == "" || name == "" || strings.Contains(kind+name, "/") {
		return "", "", usage.Errorf(`%q does not name an object: use KIND/NAME, as in "%s deployment/web"`, strings.Join(args, " "), verb)
	}
	return kind, name, nil
}

// ControllerNames returns the names in the arguments, which may be separated by commas, or
// control.All. Whether there are such controllers is not checked.
func ControllerNames(verb string, args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usage.Errorf("controllers %s: controller names and --all exclude each other: use one of them", verb)
	case all:
		return []string{control.All}, nil
	case strings.ContainsAny(strings.Join(args, ""), "?#%*"):
		return nil, usage.Errorf(`controllers %s: unknown controllers %q: "ctrlplane controllers" lists them`, verb, strings.Join(args, " "))
	}
	names := strings.Split(strings.Join(args, ","), ",")
	if slices.Contains(names, "") {
		return nil, usage.Errorf(`controllers %s: missing controller name: "ctrlplane controllers" lists them`, verb)
	}
	return names, nil
}

// ClientNames returns the names of clients in the arguments, or control.All.
// Whether there are such clients is not checked.
func ClientNames(verb string, args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usage.Errorf("clients %s: client names and --all exclude each other: use one of them", verb)
	case all:
		return []string{control.All}, nil
	case len(args) == 0 || slices.Contains(args, "") || slices.Contains(args, control.All):
		return nil, usage.Errorf(`clients %s: missing client name: "ctrlplane clients" lists them`, verb)
	}
	return args, nil
}

// Delay returns the names and the delay in NAME… DURATION. The names are of controllers,
// or of others of which plural and noun say what they are.
func Delay(plural, noun string, args []string) (names []string, d time.Duration, err error) {
	if len(args) == 0 {
		return nil, 0, usage.Errorf("%s delay: missing %s name and duration: write NAME 500ms", plural, noun)
	}
	last := len(args) - 1
	if d, err = time.ParseDuration(args[last]); err != nil {
		return nil, 0, usage.Errorf("%s delay: %q is not a duration: write one such as 500ms or 2s after the names", plural, args[last])
	}
	if d <= 0 {
		return nil, 0, usage.Errorf(`%s delay: %v is not positive: use a longer delay, or "ctrlplane %[1]s clear"`, plural, d)
	}
	return args[:last], d, nil
}
