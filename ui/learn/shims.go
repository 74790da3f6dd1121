package learn

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// interpreter runs the command line that is its last argument. Lessons are written for a POSIX
// shell on each system.
var interpreter = []string{"sh", "-c"}

// CheckShell returns an error if PATH has no shell for the commands of a lesson.
func CheckShell() error {
	if _, err := exec.LookPath(interpreter[0]); err != nil {
		return fmt.Errorf("lessons need the shell %s, which is not in PATH: %s", interpreter[0], shellHint)
	}
	return nil
}

// envFile sets up another shell for the lesson.
const envFile = "env"

func envText(tools, kubeconfig, namespace string) string {
	return fmt.Sprintf("export KUBECONFIG=%s NS=%s PATH=%s:\"$PATH\"\n", quoteWord(kubeconfig), namespace, pathEntry(tools))
}

// envCommand is the command that reads the file.
func envCommand(path string) string { return ". " + quoteWord(filepath.ToSlash(path)) }

// shimHead begins each shim. In the shells of Git for Windows, the variables keep arguments that look like
// paths, such as /metrics, as they are.
const shimHead = "#!/bin/sh\nexport MSYS_NO_PATHCONV=1 MSYS2_ARG_CONV_EXCL='*'\n"

// DataDirEnv and NamespaceEnv are set by the kubectl and the ctrlplane of a lesson's shell: the data folder of the control plane
// and the namespace that commands without a selection use there.
const (
	DataDirEnv   = "CTRLPLANE_LESSON_DATA_DIR"
	NamespaceEnv = "CTRLPLANE_LESSON_NAMESPACE"
)

// shimScripts are a kubectl and a ctrlplane that use the lesson's control plane and
// namespace.
func shimScripts(program string, target []string, kubeconfig, namespace string) map[string]string {
	words := []string{quoteWord(filepath.ToSlash(program))}
	for _, t := range target {
		words = append(words, quoteWord(t))
	}
	ctrlplane := fmt.Sprintf("env %s=%s %s=%s %s", DataDirEnv, quoteWord(dataDirOf(target)), NamespaceEnv, namespace, strings.Join(words, " "))
	return map[string]string{
		"kubectl": shimHead + fmt.Sprintf("exec %s kubectl --kubeconfig %s \"$@\"\n", ctrlplane, quoteWord(kubeconfig)),
		"ctrlplane": shimHead + fmt.Sprintf(`case "$*" in *--metrics*) exec %s "$@" ;; esac # watches another process
case "$1" in
trace|why|wait|reconcile) verb=$1; shift; set -- "$verb" -n %s "$@" ;;
kubectl) shift; set -- kubectl --kubeconfig %s "$@" ;;
esac
exec %s "$@"
`, words[0], namespace, quoteWord(kubeconfig), ctrlplane),
	}
}

// dataDirOf returns the data folder among flags that select a control plane; "" if they select it otherwise.
func dataDirOf(target []string) string {
	if i := slices.Index(target, "--data-dir"); i >= 0 && i+1 < len(target) {
		return target[i+1]
	}
	return ""
}

// quoteWord quotes a word for the shell.
func quoteWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
