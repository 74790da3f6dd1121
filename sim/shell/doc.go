// Package shell runs the commands of simulated containers: a POSIX shell and a
// table of small programs, in the process, on a file system in memory. A
// script starts no host process and reaches no host file and no network.
//
// The parser is that of mvdan.cc/sh/v3. Its word expansion is not used, as it
// does not count its steps. Nor is its interpreter: it starts goroutines whose panics cannot be
// recovered, resolves "type", "source" and "pwd -P" on the host, makes host
// pipes and named pipes, and knows no trap for TERM. The evaluator here bounds
// what a script costs: every statement and every transferred byte counts
// against a share of the CPU, memory is accounted, and nesting is limited,
// because a Go stack overflow ends the whole process.
//
// The files, by layer from the bottom:
//
//   - the files of a container: tree.go (mounts and paths), dir.go (a volume), lazydir.go, files*.go and rename.go
//     (operations), fileinfo.go, handle.go (open files), image*.go (what an image has);
//   - processes: proc.go, signal.go, fd.go (descriptors) and what they refer to (pipe.go, outerstream.go, memoryfile.go,
//     terminal.go), linesource.go, pace.go (CPU and output);
//   - the shell: main.go (the program sh), shell.go, config.go, parse.go, exec.go (commands), loops.go, redirect.go, call.go
//     (functions and programs), lookup.go, assign.go, expand.go, param*.go and braces.go (words), pattern.go, regexp.go,
//     escape.go, arith.go, jobs.go, trap.go;
//   - builtins: the table is in builtin.go; builtin*.go, declare.go, getopts.go, read.go, set.go and test.go;
//   - programs: the table is in programs.go, which also reads their input; flags.go parses their options. On files: attributes.go,
//     cat.go, checksum.go, copy.go, disk.go, filecmd.go, find*.go, gzip.go, ls.go, tar.go; on text: awk*.go, cut.go, echo.go, expr.go,
//     follow.go (tail -f), grep.go, head.go, sed*.go, sort*.go, text.go, tr.go, wc.go; others: date.go, env.go, identity.go,
//     kill.go, network.go, ping.go, sleep.go, stty.go, sysctl.go, xargs.go;
//   - run.go has Run, and known.go finds out beforehand whether a command can run.
package shell
