package devloop

import (
	"path/filepath"
	"slices"
	"strings"
)

// ExecFlagIndex is where the arguments of a command "go run" may have a flag -exec; -1 for
// other commands, and if they may have it.
func ExecFlagIndex(args []string) int {
	if len(args) < 3 || strings.TrimSuffix(filepath.Base(args[0]), ".exe") != "go" || args[1] != "run" {
		return -1
	}
	if slices.ContainsFunc(args[2:], func(arg string) bool { name, _ := flagName(arg); return name == "exec" }) {
		return -1
	}
	switch name, hasValue := flagName(args[2]); { // -C has to be the first flag
	case name == "C" && hasValue:
		return 3
	case name == "C":
		return min(4, len(args))
	}
	return 2
}

// flagName returns the name of a flag, which has one dash or two, and whether its value is in the
// same argument. The name is empty if the argument is not a flag.
func flagName(arg string) (name string, hasValue bool) {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", false
	}
	name, _, hasValue = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return name, hasValue
}
