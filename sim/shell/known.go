package shell

import (
	"path"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// shells are the names of the shell.
var shells = map[string]bool{"sh": true, "ash": true, "dash": true, "bash": true}

// CanRun reports whether the engine knows the program of a command: one of its
// own programs or a shell.
func CanRun(args []string) bool { return CanRunIn(nil, args) }

// CanRunIn is like CanRun for a container with a file system: the program may
// also be a script in it that names a shell in its first line.
func CanRunIn(fs *FS, args []string) bool {
	if len(args) == 0 {
		return false
	}
	dir, name := path.Split(args[0])
	if dir == "" || slices.Contains(strings.Split(defaultPath, ":"), strings.TrimSuffix(dir, "/")) {
		if programTable[name] != nil {
			return true
		}
	}
	if fs == nil || dir == "" {
		return false
	}
	if info, err := fs.stat(nil, args[0], true); err != nil || info.IsDir() || info.mode&0o111 == 0 {
		return false
	}
	interpreter, err := fs.interpreter(nil, args[0])
	return err == nil && programTable[path.Base(interpreter[0])] != nil
}

// UnknownPrograms returns the names of the programs that a command needs and the
// engine does not know: the program itself, and the literal command names in a
// script that "sh -c" gets.
func UnknownPrograms(args []string) []string { return UnknownProgramsIn(nil, args) }

// maxUnknown is how many names of unknown programs are returned.
const maxUnknown = 20

// UnknownProgramsIn is like UnknownPrograms for a container with a file system: programs may
// also be scripts in it, see [CanRunIn].
func UnknownProgramsIn(fs *FS, args []string) (unknown []string) {
	if len(args) == 0 {
		return nil
	}
	if !CanRunIn(fs, args) {
		return []string{shortName(args[0])}
	}
	script, ok := inlineScript(args)
	if !ok {
		return nil
	}
	file, err := parse(script)
	if err != nil {
		return nil
	}
	defer func() {
		if recover() != nil { // the library cannot walk this script: it is left to the shell
			unknown = nil
		}
	}()
	defined := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if fn, ok := n.(*syntax.FuncDecl); ok && fn.Name != nil {
			defined[fn.Name.Value] = true
		}
		return true
	})
	known := defined // or reported
	syntax.Walk(file, func(n syntax.Node) bool {
		if len(unknown) == maxUnknown {
			return false
		}
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		name := commandName(call)
		relative := strings.Contains(name, "/") && !strings.HasPrefix(name, "/")
		if name != "" && !relative && !known[name] && builtinTable[name] == nil && !CanRunIn(fs, []string{name}) {
			known[name] = true
			unknown = append(unknown, shortName(name))
		}
		return true
	})
	return unknown
}

// shortName returns a name that does not keep a script in memory. No longer one can be
// the path of a file.
func shortName(name string) string {
	return strings.Clone(name[:min(len(name), 4096)])
}

// commandName returns the literal name of the program that a command runs, ""
// if it has none.
func commandName(call *syntax.CallExpr) string {
	words := call.Args
	for len(words) > 1 && slices.Contains([]string{"exec", "command", "nohup"}, literal(words[0])) {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(literal(words[0]), "-") { // command -v name
		return ""
	}
	return literal(words[0])
}

// inlineScript returns the script of "sh -c script". It finds the operands as
// [shell.parseOptions] does.
func inlineScript(args []string) (string, bool) {
	if !shells[path.Base(args[0])] {
		return "", false
	}
	inline, rest := false, args[1:]
	for len(rest) > 0 && isOption(rest[0]) {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		if strings.HasPrefix(arg, "--") {
			continue
		}
		inline = inline || strings.Contains(arg, "c")
		rest = rest[min(strings.Count(arg, "o"), len(rest)):]
	}
	if !inline || len(rest) == 0 {
		return "", false
	}
	return rest[0], true
}

// isOption reports whether an argument of a shell is a group of options.
func isOption(arg string) bool {
	return len(arg) > 1 && (arg[0] == '-' || arg[0] == '+')
}

// OnlySleeps reports whether a command does nothing but sleep, such as "sleep 1h"
// or sh -c "sleep infinity", and for how long; forever is a negative duration. A
// caller can then keep a timer instead of calling Run.
func OnlySleeps(args []string) (d time.Duration, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	if script, ok := inlineScript(args); ok {
		args = strings.Fields(strings.TrimPrefix(strings.TrimSpace(script), "exec "))
		if strings.ContainsAny(script, "\n;&|<>()$`\\\"'*?[#~{}") || len(args) == 0 {
			return 0, false
		}
	}
	if path.Base(args[0]) != "sleep" || !CanRun(args) {
		if path.Base(args[0]) == "tail" && CanRun(args) && len(args) == 3 && args[1] == "-f" && args[2] == "/dev/null" {
			return -1, true
		}
		return 0, false
	}
	d, err := sleepTime(args[1:])
	return d, err == nil
}
