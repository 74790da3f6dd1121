package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func builtinType(sh *shell, args []string) flow {
	sh.status = 0
	for _, name := range args[1:] {
		if strings.HasPrefix(name, "-") {
			return sh.fail("type: illegal option %s", name)
		}
		text := ""
		if alias, ok := sh.aliases[name]; ok {
			text = "an alias for " + alias
		} else if _, ok := sh.funcs[name]; ok {
			text = "a function"
		} else if syntax.IsKeyword(name) {
			text = "a shell keyword"
		} else if builtinTable[name] != nil {
			text = "a shell builtin"
		} else if at, err := sh.p.findPath(name, sh.path()); err == nil {
			text = at
		}
		if text == "" {
			sh.errorf("type: %s: not found", name)
			sh.status = 127
			continue
		}
		sh.p.printf("%s is %s\n", name, text)
	}
	return next
}

// builtinHash looks for programs; where they are is not remembered.
func builtinHash(sh *shell, args []string) flow {
	sh.status = 0
	for _, name := range args[1:] {
		if name == "-r" || builtinTable[name] != nil {
			continue
		}
		if _, ok := sh.funcs[name]; ok {
			continue
		}
		if _, err := sh.p.findPath(name, sh.path()); err != nil {
			sh.fail("hash: %s: not found", name)
		}
	}
	return next
}

func builtinCommand(sh *shell, args []string) flow {
	show := byte(0)
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && args[0] == "command" {
		switch rest[0] {
		case "-v", "-V":
			show = rest[0][1]
		case "-p":
		case "--":
		default:
			return sh.fail("command: illegal option %s", rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		sh.status = 0
		return next
	}
	if show == 'V' {
		return builtinType(sh, append([]string{"type"}, rest...))
	}
	if show == 'v' {
		sh.commandV(rest[0])
		return next
	}
	if b, ok := builtinTable[rest[0]]; ok {
		defer sh.p.enter()()
		return b(sh, rest)
	}
	if args[0] == "builtin" {
		return sh.fail("builtin: %s: not a shell builtin", rest[0])
	}
	sh.status = sh.program(rest)
	return next
}

func (sh *shell) commandV(name string) {
	sh.status = 0
	_, isFunc := sh.funcs[name]
	if alias, ok := sh.aliases[name]; ok {
		sh.p.printf("alias %s=%s\n", name, quoted(alias))
	} else if isFunc || builtinTable[name] != nil || syntax.IsKeyword(name) {
		sh.p.print(name + "\n")
	} else if at, err := sh.p.findPath(name, sh.path()); err == nil {
		sh.p.print(at + "\n")
	} else {
		sh.status = 127
	}
}
