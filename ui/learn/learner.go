package learn

import (
	"fmt"
	"os"
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/procstat"
)

// Annotations of a lesson's namespace: the ID of the process that runs the lesson, and what tells it from
// a later process with that ID.
const (
	processAnnotation = "ctrlplane.local/learner"
	stampAnnotation   = "ctrlplane.local/learner-stamp"
)

// learnerAnnotations are the annotations of the namespace of a lesson that this process runs.
func learnerAnnotations() map[string]string {
	annotations := map[string]string{processAnnotation: strconv.Itoa(os.Getpid())}
	if stamp, err := datadir.ProcessStamp(os.Getpid()); err == nil {
		annotations[stampAnnotation] = stamp
	}
	return annotations
}

// checkLeftBehind returns an error unless a namespace with these annotations was left behind by a lesson.
func checkLeftBehind(name string, annotations map[string]string) error {
	pid, err := strconv.Atoi(annotations[processAnnotation])
	switch {
	case err != nil:
		return fmt.Errorf("namespace %s exists, and was not created by a lesson: delete it first", name)
	case pid != os.Getpid() && isSameProcess(pid, annotations[stampAnnotation]):
		return fmt.Errorf("process %d is running this lesson in namespace %s: stop it first, or use another control plane with --name; "+
			"if that process runs no lesson, delete the namespace", pid, name)
	}
	return nil
}

// isSameProcess reports whether a process exists and, as far as that can be read, has the stamp: its ID may be
// that of another one by now.
func isSameProcess(pid int, stamp string) bool {
	if !procstat.Exists(pid) {
		return false
	}
	now, err := datadir.ProcessStamp(pid)
	return err != nil || stamp == "" || now == stamp
}
