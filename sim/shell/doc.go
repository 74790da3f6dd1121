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
package shell
