// Package firstcollection delays the first garbage collection of the program. Kubernetes'
// packages allocate some 15 MiB while they are initialized, nearly all of which stays: with
// Go's default the garbage collector would run three times before main, and again in most verbs.
//
// Go initializes packages in the order of their import paths, once their imports are
// initialized. This package imports little and sorts before k8s.io; TestInitializationOrder in
// test/command fails if that changes.
package firstcollection

import "github.com/ctrlplane/ctrlplane/internal/memory/first"

func init() { first.Delay() }
