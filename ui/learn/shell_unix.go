//go:build !windows

package learn

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// interpreter runs the command line that is its last argument.
var interpreter = []string{"sh", "-c"}

// envFile sets up another shell for the lesson.
const envFile = "env"

func envText(tools, kubeconfig, namespace string) string {
	return fmt.Sprintf("export KUBECONFIG=%s NS=%s PATH=%s:\"$PATH\"\n", quoteWord(kubeconfig), namespace, quoteWord(tools))
}

// envCommand is the command that reads the file.
func envCommand(path string) string { return ". " + quoteWord(path) }

// shimScripts are a kubectl and a ctrlplane that use the lesson's control plane and
// namespace.
func shimScripts(program string, target []string, kubeconfig, namespace string) map[string]string {
	words := []string{quoteWord(program)}
	for _, t := range target {
		words = append(words, quoteWord(t))
	}
	ctrlplane := strings.Join(words, " ")
	return map[string]string{
		"kubectl": fmt.Sprintf("#!/bin/sh\nexec %s kubectl --kubeconfig %s \"$@\"\n", ctrlplane, quoteWord(kubeconfig)),
		"ctrlplane": fmt.Sprintf(`#!/bin/sh
case "$*" in *--metrics*) exec %s "$@" ;; esac # watches another process
case "$1" in
trace|why|wait|reconcile) verb=$1; shift; set -- "$verb" -n %s "$@" ;;
kubectl) shift; set -- kubectl --kubeconfig %s "$@" ;;
esac
exec %s "$@"
`, words[0], namespace, quoteWord(kubeconfig), ctrlplane),
	}
}

// quoteWord quotes a word for the shell.
func quoteWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// setProcessGroup gives a command a process group of its own, so that the terminal does
// not send signals to it, and all of its processes can be stopped.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// These fail if the processes have exited.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupExists reports whether a process of the group exists: the first one may have ended.
func groupExists(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) != syscall.ESRCH }
