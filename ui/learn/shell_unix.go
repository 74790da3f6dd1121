//go:build !windows

package learn

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// interpreter runs a command line that is its last argument.
var interpreter = []string{"sh", "-c"}

// envFile is what another shell reads to be where the lesson is.
const envFile = "env"

func envText(tools, kubeconfig, namespace string) string {
	return fmt.Sprintf("export KUBECONFIG=%s NS=%s PATH=%s:\"$PATH\"\n", quoteWord(kubeconfig), namespace, quoteWord(tools))
}

// envCommand reads the file.
func envCommand(path string) string { return ". " + quoteWord(path) }

// shimScripts are kubectl and ctrlplane for the lesson's control plane and namespace.
func shimScripts(program string, target []string, kubeconfig, namespace string) map[string]string {
	words := []string{quoteWord(program)}
	for _, t := range target {
		words = append(words, quoteWord(t))
	}
	ctrlplane := strings.Join(words, " ")
	return map[string]string{
		"kubectl": fmt.Sprintf("#!/bin/sh\nexec %s kubectl --kubeconfig %s \"$@\"\n", ctrlplane, quoteWord(kubeconfig)),
		"ctrlplane": fmt.Sprintf(`#!/bin/sh
case "$*" in *--metrics*) exec %s "$@" ;; esac # of another process
case "$1" in
trace|why|wait) verb=$1; shift; set -- "$verb" -n %s "$@" ;;
kubectl) shift; set -- kubectl --kubeconfig %s "$@" ;;
esac
exec %s "$@"
`, words[0], namespace, quoteWord(kubeconfig), ctrlplane),
	}
}

// quoteWord makes a word of a shell's.
func quoteWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// setProcessGroup gives a command a process group of its own, so that the terminal's keys
// do not reach it and all of it can be ended.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// They fail where there is nobody left.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// processExists says whether there is such a process.
func processExists(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) != syscall.ESRCH }
