package health

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// killedCodes are the exit codes of what SIGKILL and SIGTERM end.
var killedCodes = []int32{137, 143}

// networkPrograms matches the programs of the simulated shell that make requests, and bashSocket what bash opens without a program.
var (
	networkPrograms = regexp.MustCompile("(?:^|[\\s;&|(`/\"'])(wget|curl|nc)(?:$|[\\s;\"'])")
	bashSocket      = regexp.MustCompile(`/dev/(?:tcp|udp)\b`)
)

// serviceHost matches the name of a host that may be that of a Service: NAME, NAME.NAMESPACE or with .svc at the end.
const serviceHost = `([a-z][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9]*)(?:\.svc(?:\.cluster\.local)?)?)?\.?`

// contacted matches the hosts of URLs, of HOST:PORT, and of nc HOST PORT. A name that a variable completes does not match.
var contacted = []*regexp.Regexp{
	regexp.MustCompile(`\bhttps?://` + serviceHost + `(?:[:/?"'\s;&|)]|$)`),
	regexp.MustCompile(`(?:^|[\s"'])` + serviceHost + `:\d+(?:[/?"'\s;&|)]|$)`),
	regexp.MustCompile(`\bnc\s(?:[^;&|\n]*?\s)?["']?` + serviceHost + `["']?\s+["']?\d`),
}

// explainNetwork says that a command which failed, or for which a Pod waits, uses the network; "" if none does.
func (s *reasonSearch) explainNetwork(pod *corev1.Pod, t problem) string {
	if t.clarity != clarityCrashed && t.clarity != clarityUnready {
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
	found := networkPrograms.FindStringSubmatch(commands)
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
	for _, hosts := range contacted {
		for _, host := range hosts.FindAllStringSubmatch(commands, -1) {
			name, namespace := host[1], cmp.Or(host[2], pod.Namespace)
			if host[2] == "" && isKnownHost(pod, name) || host[2] != "" && s.missing(coreResource("namespaces"), "", namespace) {
				continue // such as example.com, and HOSTNAME.SERVICE
			}
			if s.missing(coreResource("services"), namespace, name) {
				return namespace + "/" + name
			}
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
