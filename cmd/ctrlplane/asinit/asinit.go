// Package asinit keeps the program from being the init process of a container: it starts the program again
// as a child, forwards signals to it, reaps what ends, and exits with its exit code.
//
// The init process of a PID namespace adopts every process that has lost its parent, and has to reap it: else a
// test that waits for such a process to be gone does not end. The program cannot reap all children itself, because
// os/exec waits for those that it has started. Nor does the default action of a signal end an init process.
//
// Go initializes packages in the order of their import paths, once their imports are
// initialized. This package imports little and sorts before k8s.io, so that the init process stays small;
// TestInitializationOrder in test/command fails if that changes.
package asinit
