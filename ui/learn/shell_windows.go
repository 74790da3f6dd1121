package learn

import (
	"fmt"
	"os/exec"
	"strings"
)

// interpreter runs the command line that is its last argument.
var interpreter = []string{"cmd", "/C"}

// envFile sets up another shell for the lesson.
const envFile = "env.cmd"

func envText(tools, kubeconfig, namespace string) string {
	return fmt.Sprintf("@set KUBECONFIG=%s\r\n@set NS=%s\r\n@set PATH=%s;%%PATH%%\r\n", kubeconfig, namespace, tools)
}

// envCommand is the command that reads the file.
func envCommand(path string) string { return `"` + path + `"` }

// shimScripts are a kubectl and a ctrlplane that use the lesson's control plane.
func shimScripts(program string, target []string, kubeconfig, _ string) map[string]string {
	ctrlplane := `"` + strings.Join(append([]string{program}, target...), `" "`) + `"`
	return map[string]string{
		"kubectl.cmd":   fmt.Sprintf("@%s kubectl --kubeconfig \"%s\" %%*\r\n", ctrlplane, kubeconfig),
		"ctrlplane.cmd": fmt.Sprintf("@%s %%*\r\n", ctrlplane),
	}
}

func setProcessGroup(*exec.Cmd) {}

// These fail if the process has exited.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
func killGroup(cmd *exec.Cmd)      { _ = cmd.Process.Kill() }

// groupExists reports that nothing is left: terminateGroup has killed the process.
func groupExists(*exec.Cmd) bool { return false }
