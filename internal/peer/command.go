package peer

import (
	"path"
	"slices"
	"strings"
)

// interpreter describes the command line of a program that runs scripts or modules.
type interpreter struct {
	names  []string // of its executable file, without a version
	code   []string // options that are followed by code, which has no name
	runs   []string // options that are followed by the name of what it runs
	values []string // other options whose value is the next argument
	// hasClusters says that options are letters that can be joined, also with their value, as in -uc CODE.
	hasClusters bool
}

var interpreters = []interpreter{
	{
		names: []string{"python", "pypy"}, hasClusters: true,
		code: []string{"-c"}, runs: []string{"-m"}, values: []string{"-W", "-X", "--check-hash-based-pycs"},
	},
	{
		names: []string{"node", "nodejs"},
		code:  []string{"-e", "--eval", "-p", "--print", "-pe"},
		values: []string{
			"-C", "--conditions", "-r", "--require", "--import", "--loader", "--experimental-loader", "--input-type",
			"--env-file", "--env-file-if-exists", "--title", "--disable-warning", "--inspect-port", "--debug-port", "--watch-path",
			"--diagnostic-dir", "--report-dir", "--report-directory", "--redirect-warnings", "--icu-data-dir", "--openssl-config",
			"--cpu-prof-dir", "--cpu-prof-name", "--heap-prof-dir", "--heap-prof-name", "--max-http-header-size", "--dns-result-order",
			"--unhandled-rejections", "--tls-cipher-list", "--tls-keylog", "--test-name-pattern", "--test-reporter",
			"--test-reporter-destination", "--test-concurrency", "--test-timeout", "--test-shard",
		},
	},
	{
		names: []string{"java"}, runs: []string{"-jar", "-m", "--module"},
		values: []string{
			"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules", "--limit-modules",
			"--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access", "--source",
		},
	},
}

// runners are scripts that run the script of a user, and how the names of those end.
var runners = map[string][]string{
	"kopf":    {".py"},
	"ts-node": {".ts", ".mts", ".cts"},
}

// Scripts with these names before the suffix, and folders with these, are found in many programs.
var (
	commonScripts = []string{"__main__", "app", "index", "main", "quarkus-run"}
	commonFolders = []string{"bin", "build", "dist", "lib", "out", "quarkus-app", "src", "target"}
)

// command is what a process runs.
type command struct {
	executable string   // path of the file
	args       []string // of which the first is the name by which it was called
	folder     string   // the current one
}

// programName returns the name of the script or module that an interpreter runs, or of another
// program; "" if that has no name. It contains nothing of the other arguments, which can be secret.
func (c command) programName() string {
	if c.executable == "" || len(c.args) == 0 {
		return ""
	}
	if in := c.interpreter(); in != nil {
		return c.scriptName(in)
	}
	called := c.args[0]
	if called == "" || strings.Contains(called, " ") { // a program can replace its command line by a text
		called = c.executable
	}
	return path.Base(called)
}

// interpreter returns the interpreter that the process is; nil if it is another program.
func (c command) interpreter() *interpreter {
	name := strings.TrimRight(path.Base(c.executable), "0123456789.")
	for i := range interpreters {
		if slices.Contains(interpreters[i].names, name) {
			return &interpreters[i]
		}
	}
	return nil
}

func (c command) scriptName(in *interpreter) string {
	script, rest := in.script(c.args[1:])
	if ends := runners[path.Base(script)]; ends != nil {
		if i := slices.IndexFunc(rest, func(arg string) bool { return slices.Contains(ends, path.Ext(arg)) }); i >= 0 {
			script = rest[i]
		}
	}
	switch {
	case script == "", strings.HasPrefix(script, "@"): // the arguments of java are in a file
		return ""
	case strings.HasPrefix(script, "/dev/"), strings.HasPrefix(script, "/proc/"): // a pipe, as of <(COMMAND)
		return ""
	}
	if !path.IsAbs(script) {
		script = path.Join(c.folder, script)
	}
	name := path.Base(script)
	if stem, _, isFile := strings.Cut(name, "."); isFile && slices.Contains(commonScripts, stem) {
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

// script returns the file or module that the interpreter runs, and the arguments after it; "" if it runs code.
func (in *interpreter) script(args []string) (script string, rest []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			return arg, args
		}
		option, value := in.split(arg)
		switch {
		case arg == "-" || slices.Contains(in.code, option):
			return "", nil
		case value != "":
			if slices.Contains(in.runs, option) {
				return value, args
			}
		case arg == "--" || slices.Contains(in.runs, option):
			if len(args) == 0 {
				return "", nil
			}
			return args[0], args[1:]
		case slices.Contains(in.values, option) && len(args) > 0:
			args = args[1:]
		}
	}
	return "", nil
}

// split returns the option in an argument, and the value that follows it there. Of letters that are joined, it
// is the first one that says something about what follows, or else the last one.
func (in *interpreter) split(arg string) (option, value string) {
	if !in.hasClusters || strings.HasPrefix(arg, "--") {
		option, value, _ = strings.Cut(arg, "=")
		return option, value
	}
	for i := 1; i < len(arg); i++ {
		option = "-" + arg[i:i+1]
		if slices.Contains(in.code, option) || slices.Contains(in.runs, option) || slices.Contains(in.values, option) {
			return option, arg[i+1:]
		}
	}
	return option, ""
}
