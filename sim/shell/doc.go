// Package shell runs the commands of simulated containers: a POSIX shell and a
// table of small programs, in the process, on a file system in memory. A
// script starts no host process and reaches no host file and no network.
//
// The parser and the word expansion are those of mvdan.cc/sh/v3. Its
// interpreter is not used: it starts goroutines whose panics cannot be
// recovered, resolves "type", "source" and "pwd -P" on the host, makes host
// pipes and named pipes, and knows no trap for TERM. The evaluator here bounds
// what a script costs: every statement and every transferred byte counts
// against a share of the CPU, memory is accounted, and nesting is limited,
// because a Go stack overflow ends the whole process.
//
// The files, by layer from the bottom:
//
//   - the files of a container: tree.go (mounts and paths), dir.go (a volume), files*.go
//     (operations), handle.go (open files), image.go (what an image has);
//   - processes: proc.go, fd.go (descriptors) and what they refer to (pipe.go,
//     outerstream.go, memoryfile.go, terminal.go), pace.go (CPU and output);
//   - the shell: parse.go, exec.go (commands), call.go (functions and programs), expand.go
//     and param*.go (words), jobs.go, trap.go, and the builtins, in the table of builtin.go;
//   - programs: the table is in programs.go, which also reads their input; flags.go parses
//     their options. A program has a file of its own, or one with related ones; sed and awk
//     have several, named after them;
//   - run.go has Run, and known.go finds out beforehand whether a command can run.
package shell
