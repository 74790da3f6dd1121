package shell

import (
	"slices"
	"strings"
)

func env(p *proc, args []string) int {
	rest := args[1:]
	for len(rest) > 0 {
		switch arg := rest[0]; {
		case arg == "-i" || arg == "-" || arg == "--ignore-environment":
			p.env = nil
		case arg == "-u" && len(rest) > 1:
			rest = rest[1:]
			p.env = slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, rest[0]+"=") })
		case arg == "--":
		case strings.HasPrefix(arg, "-S"):
			rest = append([]string{""}, append(strings.Fields(arg[2:]), rest[1:]...)...)
		case strings.HasPrefix(arg, "-"):
			return p.fail("unrecognized option: %s", arg)
		case strings.Contains(arg, "="):
			name, _, _ := strings.Cut(arg, "=")
			p.env = append(slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") }), arg)
		default:
			return p.child(rest)
		}
		rest = rest[1:]
	}
	for _, kv := range p.env {
		p.print(kv + "\n")
	}
	return 0
}

func printenv(p *proc, args []string) int {
	if len(args) == 1 {
		return env(p, args)
	}
	status := 0
	for _, name := range args[1:] {
		if !slices.ContainsFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			status = 1
			continue
		}
		p.print(p.getenv(name) + "\n")
	}
	return status
}
