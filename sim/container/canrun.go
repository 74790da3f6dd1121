package container

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// CanRun reports whether all programs of a command of a container are known, and no file of
// the image is needed.
func CanRun(c *corev1.Container, args []string) bool {
	return len(args) > 0 && len(Unknown(c, args)) == 0
}

// canExec reports whether all programs of a command that runs beside that of a container are known.
// A file that it copies need not be one of the image: what runs in the container may have made it.
func canExec(c *corev1.Container, args []string) bool {
	return len(args) > 0 && len(needsOf(guessVariables(c, args)).programs) == 0
}

// Unknown returns what a command of a container needs and is not simulated: programs that are
// not known, and files that it copies from the image.
func Unknown(c *corev1.Container, args []string) []string {
	n := needsOf(guessVariables(c, args))
	files := slices.DeleteFunc(slices.Clone(n.files), func(name string) bool { return isMounted(c, name) })
	return slices.Concat(n.programs, files)
}

// maxGuessedBytes is how much the values of variables may add to a command. Beyond it
// they are not part of the guess.
const maxGuessedBytes = 128 << 10

// guessVariables replaces the variables in a command before their values are known:
// to a shell, $(NAME) is a command.
func guessVariables(c *corev1.Container, args []string) []string {
	if !refersToVariables(args) {
		return args
	}
	values := make(map[string]string, len(c.Env))
	for _, v := range c.Env {
		values[v.Name] = v.Value
	}
	room := maxGuessedBytes
	mapping := func(name string) string {
		if value, set := values[name]; set {
			if room -= len(value); value == "" || room < 0 {
				return "x"
			}
			return value
		}
		isSource := len(c.EnvFrom) > 0 || strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT")
		if isSource && !shell.CanRun([]string{name}) {
			return "x"
		}
		return "$(" + name + ")"
	}
	guessed := make([]string, len(args))
	for i, arg := range args {
		guessed[i] = expansion.Expand(arg, mapping)
	}
	return guessed
}

// MayRun reports whether a command may turn out to be one that can run, because the
// programs that are not known are files of its volumes.
func MayRun(c *corev1.Container, args []string) bool {
	if len(args) == 0 || len(c.VolumeMounts) == 0 {
		return false
	}
	unknown := Unknown(c, args)
	return len(unknown) > 0 && !slices.ContainsFunc(unknown, func(name string) bool { return !isMounted(c, name) })
}

// mayExecute reports whether a command of a container can run, or may turn out to.
func mayExecute(c *corev1.Container, args []string) bool { return CanRun(c, args) || MayRun(c, args) }

// isMounted reports whether a file is in a volume of a container.
func isMounted(c *corev1.Container, name string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return name == m.MountPath || strings.HasPrefix(name, strings.TrimSuffix(m.MountPath, "/")+"/")
	})
}

// NeedsPreparation reports whether a container can start only after a look at the API.
func NeedsPreparation(pod *corev1.Pod, c *corev1.Container) bool {
	for range podconfig.References(pod, c) {
		return true
	}
	if podconfig.NeedsFiles(c) || checkImageName(c.Image) != nil || checkNonRoot(pod, c) != nil {
		return true
	}
	for i := range pod.Spec.Volumes {
		if podconfig.HasTrustBundle(&pod.Spec.Volumes[i]) {
			return true
		}
	}
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" })
}

func refersToVariables(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "$(") })
}
