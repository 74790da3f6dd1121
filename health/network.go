package health

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// killedCodes are the exit codes of what SIGKILL and SIGTERM end.
var killedCodes = []int32{137, 143}

// networkProgram matches a program of the simulated shell that makes requests, and bashSocket what bash opens without a program.
var (
	networkProgram = regexp.MustCompile("(?:^|[\\s;&|(`/\"'])(wget|curl|nc)(?:$|[\\s;\"'])")
	bashSocket     = regexp.MustCompile(`/dev/(?:tcp|udp)\b`)
)

// target matches what names a host that may be a Service: NAME, NAME.NAMESPACE or with .svc at the end, in a URL, with a port, or
// alone. What has a user or a variable does not match.
var target = regexp.MustCompile(`^(https?://)?([a-z][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9]*)(?:\.svc(?:\.cluster\.local)?)?)?\.?(:\d+)?(?:[/?].*)?$`)

// endOfCommand matches what ends a command of a script.
var endOfCommand = regexp.MustCompile(`[;&|\n]+`)

// userFlags are the flags of curl and wget whose value is a user, which may look like HOST:PORT.
var userFlags = []string{"-u", "-U", "--user", "--proxy-user"}

// host is a host that may be a Service.
type host struct{ name, namespace string }

// isNetworkProgram reports whether a word of a script calls such a program, also by its path or in $(…).
func isNetworkProgram(word string) bool {
	switch path.Base(strings.TrimLeft(word, "$(")) {
	case "wget", "curl", "nc":
		return true
	}
	return false
}

// contactedHosts returns the hosts that network programs of a script are to reach.
func contactedHosts(script string) (hosts []host) {
	for _, command := range endOfCommand.Split(script, -1) {
		words := strings.Fields(command)
		for i := range words {
			words[i] = strings.Trim(words[i], "\"'`()")
		}
		program := slices.IndexFunc(words, isNetworkProgram)
		for i := program + 1; program >= 0 && i < len(words); i++ {
			m := target.FindStringSubmatch(words[i])
			if m == nil || slices.Contains(userFlags, words[i-1]) {
				continue
			}
			isBeforePort := i+1 < len(words) && strings.Trim(words[i+1], "0123456789") == "" // nc HOST PORT
			if m[1] != "" || m[4] != "" || strings.HasSuffix(words[program], "nc") && isBeforePort {
				hosts = append(hosts, host{m[2], m[3]})
			}
		}
	}
	return hosts
}

// explainNetwork says that a command which failed, or for which a Pod waits, uses the network; "" if none does.
func (s *reasonSearch) explainNetwork(pod *corev1.Pod, p problem) string {
	if p.clarity != clarityCrashed && p.clarity != clarityUnready {
		return ""
	}
	for c, status := range containersOf(pod) {
		ended := status.State.Terminated
		if ended == nil {
			ended = status.LastTerminationState.Terminated
		}
		if ended != nil && slices.Contains(killedCodes, ended.ExitCode) { // as by a liveness probe
			continue
		}
		if hasFailed := ended != nil && ended.ExitCode != 0; !hasFailed && (status.State.Running == nil || status.Ready) {
			continue
		}
		if text := s.explainRequests(pod, c); text != "" {
			return text
		}
	}
	return ""
}

// explainRequests says why requests of the commands of a container may fail; "" if they make none.
func (s *reasonSearch) explainRequests(pod *corev1.Pod, c *corev1.Container) string {
	commands := commandsOf(c)
	if found := bashSocket.FindString(commands); found != "" {
		return fmt.Sprintf("container %s uses %s, which is not simulated: use nc -z HOST PORT: docs/pods.md#http", c.Name, found)
	}
	found := networkProgram.FindStringSubmatch(commands)
	if found == nil {
		return ""
	}
	if service := s.findMissingService(pod, commands); service != "" {
		return fmt.Sprintf("container %s uses %s to reach the Service %s, which does not exist", c.Name, found[1], service)
	}
	return fmt.Sprintf("container %s uses %s, and only Pods with the annotation %s answer, which may be why: docs/pods.md#http", c.Name, found[1], annotations.HTTP)
}

// findMissingService returns the first Service, as NAMESPACE/NAME, that commands of a Pod name and that does not exist.
func (s *reasonSearch) findMissingService(pod *corev1.Pod, commands string) string {
	services := coreResource("services")
	for _, h := range contactedHosts(commands) {
		namespace := cmp.Or(h.namespace, pod.Namespace)
		switch {
		case h.namespace == "" && isKnownHost(pod, h.name):
		case h.namespace != "" && s.missing(coreResource("namespaces"), "", namespace): // such as example.com
		case h.namespace != "" && !s.missing(services, pod.Namespace, h.namespace): // HOSTNAME.SERVICE
		case s.missing(services, namespace, h.name):
			return namespace + "/" + h.name
		}
	}
	return ""
}

// isKnownHost reports whether a Pod has a name in its /etc/hosts.
func isKnownHost(pod *corev1.Pod, name string) bool {
	return name == "localhost" || name == cmp.Or(pod.Spec.Hostname, pod.Name) ||
		slices.ContainsFunc(pod.Spec.HostAliases, func(a corev1.HostAlias) bool { return slices.Contains(a.Hostnames, name) })
}

// commandsOf returns the command of a container and those of its probes, one line each.
func commandsOf(c *corev1.Container) string {
	lines := []string{strings.Join(slices.Concat(c.Command, c.Args), " ")}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && p.Exec != nil {
			lines = append(lines, strings.Join(p.Exec.Command, " "))
		}
	}
	return strings.Join(lines, "\n")
}
