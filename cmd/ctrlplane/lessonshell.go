package main

import (
	"os"
	"strings"

	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// inLessonShell reports whether the target was selected by the commands ctrlplane and kubectl of a lesson's shell: suggested
// commands need no selection there.
func (t *target) inLessonShell() bool {
	return t.dataDir != "" && t.dataDir == os.Getenv(learn.DataDirEnv)
}

// inLessonNamespace reports whether the commands of a lesson's shell use this namespace unless told otherwise.
func (t *target) inLessonNamespace(namespace string) bool {
	return t.inLessonShell() && namespace == os.Getenv(learn.NamespaceEnv)
}

// lessonCommand is the command line of a verb in a lesson's shell.
func lessonCommand(verb string) string {
	if strings.HasPrefix(verb, "kubectl ") {
		return verb
	}
	return "ctrlplane " + verb
}
