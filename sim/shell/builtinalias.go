package shell

import (
	"maps"
	"slices"
	"strings"
)

func builtinAlias(sh *shell, args []string) flow {
	sh.status = 0
	if len(args) == 1 {
		for _, name := range slices.Sorted(maps.Keys(sh.aliases)) {
			sh.p.printf("%s=%s\n", name, quoted(sh.aliases[name]))
		}
	}
	for _, arg := range args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			if _, ok := sh.aliases[name]; !ok {
				return sh.fail("alias: %s not found", name)
			}
			sh.p.printf("%s=%s\n", name, quoted(sh.aliases[name]))
			continue
		}
		if sh.aliases == nil {
			sh.aliases = map[string]string{}
		}
		sh.hold(len(arg) + 64)
		sh.aliases[name] = value
	}
	return next
}

func builtinUnalias(sh *shell, args []string) flow {
	sh.status = 0
	for _, arg := range args[1:] {
		if arg == "-a" {
			clear(sh.aliases)
		}
		delete(sh.aliases, arg)
	}
	return next
}

// runAlias runs a command that begins with an alias.
func (sh *shell) runAlias(name, alias string, args []string) flow {
	if sh.expanding == nil {
		sh.expanding = map[string]bool{}
	}
	sh.expanding[name] = true
	defer delete(sh.expanding, name)
	var b strings.Builder
	b.WriteString(alias)
	for _, arg := range args {
		b.WriteString(" " + quote(arg))
	}
	return sh.eval(b.String())
}
