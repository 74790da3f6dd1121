package shell

import (
	"slices"
	"strings"
)

// harmlessShopts are options of bash that change nothing here: they are for interactive
// shells, or what they turn on is always so. extglob is one of them because its patterns are
// refused where they are used.
var harmlessShopts = []string{
	"checkhash", "checkwinsize", "cmdhist", "expand_aliases", "extglob", "histappend", "huponexit", "inherit_errexit",
	"interactive_comments", "lithist", "progcomp", "promptvars", "sourcepath",
}

// builtinShopt sets and queries options of bash.
func builtinShopt(sh *shell, args []string) flow {
	flags, names := "", args[1:]
	for len(names) > 0 && strings.HasPrefix(names[0], "-") {
		if strings.Trim(names[0], "-suq") != "" {
			failExpansion("shopt: option %s is not simulated", names[0])
		}
		flags, names = flags+names[0], names[1:]
	}
	if strings.Trim(flags, "-") == "" || len(names) == 0 {
		failExpansion("shopt without -s, -u or -q is not simulated")
	}
	sh.status = 0
	for _, name := range names {
		switch {
		case strings.Contains(flags, "s"):
			sh.setShopt(name)
		case strings.Contains(flags, "u"):
			sh.shopts = slices.DeleteFunc(slices.Clone(sh.shopts), func(s string) bool { return s == name })
		case !slices.Contains(sh.shopts, name):
			sh.status = 1
		}
	}
	return next
}

func (sh *shell) setShopt(name string) {
	if name != "nullglob" && !slices.Contains(harmlessShopts, name) {
		failExpansion("shopt: %s is not simulated", name)
	}
	if !slices.Contains(sh.shopts, name) {
		sh.shopts = append(slices.Clone(sh.shopts), name) // a subshell may have the old list
	}
}
