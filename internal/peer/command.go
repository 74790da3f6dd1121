package peer

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// interpreter describes the command line of a program that runs scripts or modules.
type interpreter struct {
	subcommand string // that runs them; "" if the program has none
	isRunner   bool   // which may have other options with values: only a file, or another runner, is surely the script

	files   []string // how the names of scripts end
	code    []string // options that are followed by code, which has no name
	modules []string // options that are followed by the name of a module
	values  []string // other options whose value is the next argument
	// hasOtherValues says that more options have values: after an option, only a file is the script.
	hasOtherValues bool
	// hasClusters says that options are letters that can be joined, also with their value, as in -uc CODE.
	hasClusters bool
}

var (
	python = &interpreter{
		files: []string{".py"}, hasClusters: true,
		code: []string{"-c"}, modules: []string{"-m"}, values: []string{"-W", "-X", "--check-hash-based-pycs"},
	}
	node = &interpreter{
		files: []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}, hasOtherValues: true,
		code:   []string{"-e", "--eval", "-p", "--print", "-pe"},
		values: []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--test-reporter"}, // which can be files
	}
	java = &interpreter{
		files: []string{".jar"}, modules: []string{"-m", "--module"},
		values: []string{
			"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules", "--limit-modules",
			"--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access", "--source",
		},
	}
)

// interpreters by the names of their executable files. What the other ones run is not known.
var interpreters = map[string]*interpreter{
	"python": python, "pypy": python, "node": node, "nodejs": node, "java": java,
	"ruby": nil, "deno": nil, "bun": nil, "dotnet": nil, "perl": nil, "php": nil, "pwsh": nil,
}

// executableName is the name of an interpreter with or without a version, such as python3.14t.
var executableName = regexp.MustCompile(`^([a-z]+)([0-9][0-9.]*t?d?(-dbg)?)?$`)

// runners are scripts and modules that run those of a user.
var runners = map[string]*interpreter{
	"coverage": {
		isRunner: true, subcommand: "run", files: python.files, modules: []string{"-m", "--module"}, hasClusters: true,
		values: []string{"--concurrency", "--context", "--data-file", "--debug", "--include", "--omit", "--rcfile", "--source"},
	},
	"debugpy": {
		isRunner: true, files: python.files, code: []string{"-c"}, modules: []string{"-m"},
		values: []string{
			"--listen", "--connect", "--log-to", "--configure-qt", "--configure-subProcess", "--parent-session-pid",
			"--adapter-access-token", "--pid",
		},
	},
	"inspect": {isRunner: true, files: node.files},
	"kopf": {
		isRunner: true, subcommand: "run", files: python.files, modules: []string{"-m", "--module"}, hasClusters: true,
		values: []string{
			"-n", "--namespace", "-L", "--liveness", "-P", "--peering", "-p", "--priority", "--log-format", "--log-refkey",
		},
	},
	"pdb": {
		isRunner: true, files: python.files, modules: []string{"-m"}, hasClusters: true,
		values: []string{"-c", "--command", "-p", "--pid"},
	},
	"pydevd.py": {
		isRunner: true, files: python.files,
		values: []string{
			"--client", "--port", "--ppid", "--vm_type", "--access-token", "--client-access-token", "--log-file", "--log-level",
			"--debug-mode",
		},
	},
	"ts-node": {
		isRunner: true, files: node.files, code: node.code,
		values: []string{
			"-r", "--require", "-P", "--project", "-C", "--compiler", "-I", "--ignore", "-D", "--ignoreDiagnostics", "-O",
			"--compilerOptions", "--cwd",
		},
	},
}

// Scripts with these names before the suffix, and folders with these, are found in many programs.
var (
	commonScripts = []string{"__main__", "app", "index", "main", "quarkus-run"}
	commonFolders = []string{"bin", "build", "dist", "lib", "out", "quarkus-app", "src", "target"}
)

// unstableName is one that changes with each run, as that of a step of a CI service or of the JAR file that Surefire
// writes, or that of a Java class that starts many programs.
var unstableName = regexp.MustCompile(`^\PL*$|[0-9]{12}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|Launcher$`)

// command is what a process runs.
type command struct {
	executable string   // path of the file
	args       []string // of which the first is the name by which it was called
	folder     string   // the current one
}

// programName returns the name of the script or module that an interpreter runs, or of another
// program; "" if that has no name. It contains nothing of the other arguments, which can be secret.
func (c command) programName() string {
	name := c.findName()
	if unstableName.MatchString(name) {
		return ""
	}
	name = strings.Join(strings.Fields(name), "_") // a space ends the name in a user agent
	return strings.Clone(name)                     // without the rest of the command line
}

func (c command) findName() string {
	if c.executable == "" || len(c.args) == 0 {
		return ""
	}
	if parts := executableName.FindStringSubmatch(path.Base(c.executable)); parts != nil {
		if in, ok := interpreters[parts[1]]; ok {
			return c.scriptName(in)
		}
	}
	called := c.args[0]
	if called == "" || strings.Contains(called, " ") { // a program can replace its command line by a text
		called = c.executable
	}
	return path.Base(called)
}

func (c command) scriptName(in *interpreter) string {
	if in == nil {
		return ""
	}
	script, isModule, rest := in.script(c.args[1:])
	for runner := runners[path.Base(script)]; runner != nil; runner = runners[path.Base(script)] {
		run, isRunModule, after := runner.script(rest)
		if run == "" {
			break
		}
		script, isModule, rest = run, isRunModule, after
	}
	switch {
	case script == "", strings.HasPrefix(script, "@"): // the arguments of java are in a file
		return ""
	case strings.HasPrefix(script, "/dev/"), strings.HasPrefix(script, "/proc/"): // a pipe, as of <(COMMAND)
		return ""
	case isModule:
		return path.Base(script)
	}
	if !path.IsAbs(script) {
		script = path.Join(c.folder, script)
	}
	name := path.Base(script)
	if in.isFile(name) && slices.Contains(commonScripts, strings.TrimSuffix(name, path.Ext(name))) {
		script = path.Dir(script)
	}
	for slices.Contains(commonFolders, path.Base(script)) {
		script = path.Dir(script)
	}
	if script == "/" {
		return name
	}
	return path.Base(script)
}

// script returns the file, class or module that the interpreter runs, and the arguments after it; "" if it runs code,
// or if that is not known.
func (in *interpreter) script(args []string) (script string, isModule bool, rest []string) {
	if in.subcommand != "" {
		if len(args) == 0 || args[0] != in.subcommand {
			return "", false, nil
		}
		args = args[1:]
	}
	afterOption := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			if afterOption && in.hasOtherValues && !in.isFile(arg) {
				continue
			}
			if in.isRunner && !in.isFile(arg) && runners[path.Base(arg)] == nil {
				return "", false, nil
			}
			return arg, false, args
		}
		afterOption = true
		option, value := in.split(arg)
		isModule = slices.Contains(in.modules, option)
		switch {
		case arg == "-" || slices.Contains(in.code, option):
			return "", false, nil
		case value != "":
			if isModule {
				return value, true, args
			}
		case arg == "--" || isModule:
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				return "", false, nil
			}
			return args[0], isModule, args[1:]
		case slices.Contains(in.values, option) && len(args) > 0:
			args = args[1:]
		}
	}
	return "", false, nil
}

func (in *interpreter) isFile(name string) bool { return slices.Contains(in.files, path.Ext(name)) }

// split returns the option in an argument, and the value that follows it there. Of letters that are joined, it
// is the first one that says something about what follows, or else the last one.
func (in *interpreter) split(arg string) (option, value string) {
	if !in.hasClusters || strings.HasPrefix(arg, "--") {
		option, value, _ = strings.Cut(arg, "=")
		return option, value
	}
	for i := 1; i < len(arg); i++ {
		option = "-" + arg[i:i+1]
		if slices.Contains(in.code, option) || slices.Contains(in.modules, option) || slices.Contains(in.values, option) {
			return option, arg[i+1:]
		}
	}
	return option, ""
}
