package devloop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// shells are programs whose first argument is the file that they run.
	shells = []string{"sh", "bash", "dash", "ksh", "zsh"}
	// interpreters are programs that run a script among their arguments, without the version in the name.
	interpreters = []string{
		"python", "pythonw", "py", "pypy", "uv", "poetry", "pipenv", "node", "nodejs", "deno", "bun", "npx", "tsx", "ts-node", "java", "ruby", "perl", "php",
	}
	// scripts are the extensions of what these run. Another file may be one that the program writes.
	scripts = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".java", ".jar", ".rb", ".pl", ".php"}
)

// Sources returns what a command runs, if it is on this machine: the file that it names, a
// script that it gives to an interpreter, or the package of a command "go run".
func Sources(args []string) []string {
	program := strings.ToLower(filepath.Base(args[0]))
	program = strings.TrimSuffix(strings.TrimSuffix(program, ".exe"), ".cmd")
	switch {
	case program == "env":
		return sourcesOfEnv(args[1:])
	case program == "ctrlplane" && slices.Contains(args, "reconcile"):
		return sourcesOfReconciler(args)
	case program == "go" && len(args) > 1 && args[1] == "run":
		return packageOf(args[2:])
	case slices.Contains(shells, program):
		return scriptOf(args[1:], isFile)
	case slices.Contains(interpreters, strings.TrimRight(program, "0123456789.t")): // 3.13t is Python without its global lock
		return scriptOf(args[1:], isScript)
	case filepath.Base(args[0]) != args[0] && isFile(args[0]): // otherwise it is found in PATH
		return []string{args[0]}
	}
	return nil
}

// sourcesOfEnv returns the sources of the command among the arguments of env.
func sourcesOfEnv(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	arg, rest := args[0], args[1:]
	switch {
	case strings.HasPrefix(arg, "-C"), strings.HasPrefix(arg, "--chdir"): // paths are relative to another folder
		return nil
	case slices.Contains([]string{"-u", "--unset"}, arg) && len(rest) > 0:
		return sourcesOfEnv(rest[1:])
	case slices.Contains([]string{"-S", "--split-string"}, arg) && len(rest) > 0:
		return sourcesOfEnv(slices.Concat(strings.Fields(rest[0]), rest[1:]))
	case strings.HasPrefix(arg, "-"), strings.Contains(arg, "="):
		return sourcesOfEnv(rest)
	}
	return Sources(args)
}

// sourcesOfReconciler returns the sources of the command that "ctrlplane reconcile KIND -- COMMAND" runs.
func sourcesOfReconciler(args []string) []string {
	i := slices.Index(args, "--")
	if i < 0 || i+1 == len(args) {
		return nil
	}
	return Sources(args[i+1:])
}

// scriptOf returns the first of some arguments that is a file of that kind.
func scriptOf(args []string, is func(string) bool) []string {
	if script := firstOperand(args, is); script != "" {
		return []string{script}
	}
	return nil
}

// packageOf returns the folder, or the files, that "go run" compiles.
func packageOf(args []string) (paths []string) {
	dir := ""
	if len(args) > 0 { // -C has to be the first flag
		flag, value, inline := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		switch {
		case flag == "C" && inline:
			dir, args = value, args[1:]
		case flag == "C" && len(args) > 1:
			dir, args = args[1], args[2:]
		}
	}
	in := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	first := firstOperand(args, func(arg string) bool { return isFolder(in(arg)) || strings.HasSuffix(arg, ".go") && isFile(in(arg)) })
	if first == "" {
		return nil // a package by its import path
	}
	if isFolder(in(first)) {
		return []string{in(first)}
	}
	for _, arg := range args[slices.Index(args, first):] {
		if !strings.HasSuffix(arg, ".go") || !isFile(in(arg)) {
			break
		}
		paths = append(paths, in(arg))
	}
	return paths
}

// firstOperand returns the first argument that is no flag and is of that kind: the ones
// before it may be values of flags.
func firstOperand(args []string, is func(string) bool) string {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") && is(arg) })
	if i < 0 {
		return ""
	}
	return args[i]
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isScript(path string) bool {
	return slices.Contains(scripts, filepath.Ext(path)) && isFile(path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
