package observe

import "strings"

// The name of a client is PROGRAM (USER). The name of a controller that a client reports is
// PROGRAM/CONTROLLER, or CLIENT/CONTROLLER if the program of several clients has one of that
// name. The names of the controllers of a control plane have no "/".

// ProgramOf returns the program of the client with a name.
func ProgramOf(client string) string {
	program, _, _ := strings.Cut(client, " (")
	return program
}

// ClientsNamed returns the client of a list with a name, or else those whose program has it: only
// the connected one if there is one such. nameOf returns the name of a client.
func ClientsNamed[C any](list []C, name string, nameOf func(C) string, isConnected func(C) bool) []C {
	var found, connected []C
	for _, c := range list {
		full := nameOf(c)
		if full == name {
			return []C{c}
		}
		if ProgramOf(full) == name {
			if found = append(found, c); isConnected(c) {
				connected = append(connected, c)
			}
		}
	}
	if len(connected) == 1 {
		return connected
	}
	return found
}

// IsReported reports whether a name is that of a controller that a client reports: one of
// another process.
func IsReported(controller string) bool {
	_, _, is := SplitReported(controller)
	return is
}

// SplitReported returns the program or the client that reports the controller with a name, and
// the controller's name in its reports; false if none does. The user of a client may have a "/",
// as those of OIDC do: their names begin with the URL of who issued the token.
func SplitReported(controller string) (of, name string, is bool) {
	program, user, isClient := strings.Cut(controller, " (")
	if !isClient || strings.Contains(program, "/") { // what follows is part of the controller's name
		return strings.Cut(controller, "/")
	}
	if user, name, is = strings.Cut(user, ")/"); !is {
		return controller, "", false
	}
	return program + " (" + user + ")", name, true
}
